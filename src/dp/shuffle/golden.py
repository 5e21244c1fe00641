"""Reference values for amplification by shuffling: the divergence of Theorem 3.2 summed over all pairs of counts, in 40 digits.

python3 -m venv v && v/bin/pip install mpmath==1.4.1 && v/bin/python src/dp/shuffle/golden.py >src/dp/shuffle/golden.txt
"""
from mpmath import mp, mpf, exp, log, sqrt, binomial, findroot

mp.dps = 40


def delta(n, local, epsilon):
    p, q = exp(-local), exp(local) / (exp(local) + 1)
    all = mpf(0)
    for c in range(n):
        weight = binomial(n - 1, c) * p ** c * (1 - p) ** (n - 1 - c)
        if weight < mpf(10) ** -30:
            continue
        b = [mpf(0)] + [binomial(c, k) / mpf(2) ** c for k in range(c + 1)] + [mpf(0)]
        for k in range(c + 2):
            one, two = q * b[k] + (1 - q) * b[k + 1], q * b[k + 1] + (1 - q) * b[k]
            all += weight * max(mpf(0), one - exp(epsilon) * two)
    return all


def closed(n, local, d):
    if local > log(n / (16 * log(4 / d))):
        return None
    e = exp(local)
    a = 8 * sqrt(e * log(4 / d)) / sqrt(n) + 8 * e / n
    return log(1 + (1 - 1 / e) / (1 + exp(-local - log(1 + a))) * a)


for n, local, epsilon in [(2, "1/1", "1/2"), (30, "1/1", "1/4"), (30, "2/1", "1/1"), (300, "1/1", "1/5"), (300, "2/1", "3/10"),
                          (300, "4/1", "2/1"), (900, "1/2", "1/20"), (900, "3/1", "4/5")]:
    as_number = lambda text: mpf(int(text.split("/")[0])) / int(text.split("/")[1])
    print("delta", n, local, epsilon, mp.nstr(delta(n, as_number(local), as_number(epsilon)), 17))
for n, local, d in [(1000, "1/1", "1e-6"), (100000, "1/2", "1e-6"), (100000, "4/1", "1e-8"), (1000000, "1/1", "1e-9")]:
    as_number = lambda text: mpf(int(text.split("/")[0])) / int(text.split("/")[1])
    print("closed", n, local, d, mp.nstr(closed(n, as_number(local), mpf(d)), 17))
