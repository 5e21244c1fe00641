"""Reference values for the randomisers: distributions written out symbol by symbol from the papers' definitions, in 50 digits.

python3 -m venv v && v/bin/pip install mpmath==1.4.1 && v/bin/python src/dp/randomised/golden.py >src/dp/randomised/golden.txt
"""
from mpmath import mp, mpf, exp, sqrt, nint

mp.dps = 50


def hadamard(size):
    rows = [[1]]
    while len(rows) < size:
        rows = [r + r for r in rows] + [r + [-x for x in r] for r in rows]
    return rows


def response(k, e):
    total = exp(e) + k - 1
    return exp(e) / total, 1 / total


def unary(k, e):
    return mpf(1) / 2, 1 / (exp(e) + 1)


def hadamard_response(k, e):
    size = 1
    while size < k + 1:
        size *= 2
    rows = hadamard(size)
    mine, other = rows[1], rows[2]
    weight = [exp(e) if x == 1 else mpf(1) for x in mine]
    total = sum(weight)
    p = sum(w for w, x in zip(weight, mine) if x == 1) / total
    q = sum(w for w, x in zip(weight, other) if x == 1) / total
    return p, q


def moments(law):
    mean = sum(y * p for y, p in law)
    return mean, sum(y * y * p for y, p in law) - mean ** 2


def rounding(m, e):
    p = exp(e) / (exp(e) + 1)
    up = lambda x: mpf(x) / m * p + (1 - mpf(x) / m) * (1 - p)
    return lambda x: [(mpf(0), 1 - up(x)), (mpf(1), up(x))]


def piecewise(m, e):
    s = m * -(-4096 // m)
    w = max(1, min(s, int(nint(s * exp(-e / 2)))))
    total = w * exp(e) + s

    def law(x):
        start = x * s // m
        return [(mpf(y), (exp(e) if start <= y < start + w else mpf(1)) / total) for y in range(s + w)]
    return law


EPSILONS = [("1/2", mpf(1) / 2), ("1/1", mpf(1)), ("4/1", mpf(4))]
for name, scheme in [("response", response), ("unary", unary), ("hadamard", hadamard_response)]:
    for k in (3, 100) if name == "response" else (3, 60):
        for text, e in EPSILONS:
            p, q = scheme(k, e)
            sd = sqrt(300 * p * (1 - p) + 700 * q * (1 - q)) / (p - q)
            print("oracle", name, k, text, *(mp.nstr(x, 17) for x in (p, q, sd)))
for name, scheme in [("rounding", rounding), ("piecewise", piecewise)]:
    for m in (1, 10, 5000):
        for text, e in EPSILONS:
            law = scheme(m, e)
            low, high = moments(law(0))[0], moments(law(m))[0]
            scale = m / (high - low)
            x = 3 * m // 10
            print("mean", name, m, text, x, *(mp.nstr(v, 17) for v in
                  (scale, -low * scale, moments(law(x))[1] * scale ** 2)))
