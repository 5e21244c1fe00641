"""The same survey by pure-ldp and multi-freq-ldpy: `peers.py LIBRARY ORACLE VALUES EPSILON PEOPLE SURVEYS` prints the root mean square
error of the counts over all values, and reports a second by their clients. Counts are estimated from all reports by
(supports - n*q)/(p - q), as both papers have it: cutting at zero, as their aggregators do besides, is another estimator.
"""
import math
import sys
import time

import numpy as np

library, oracle, k, people, surveys = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[5]), int(sys.argv[6])
n, d = (sys.argv[4] + "/1").split("/")[:2]
epsilon = int(n) / int(d)
said = [(j * 40503 % 65536) ** 2 * k >> 32 for j in range(people)]
truth = np.bincount(said, minlength=k)
e = math.exp(epsilon)
p, q = (e / (e + k - 1), 1 / (e + k - 1)) if oracle == "response" else (0.5, 1 / (e + 1))


def estimated(reports):
    if oracle == "response":
        counts = np.bincount(np.asarray(reports), minlength=k)
    else:
        counts = np.sum(np.asarray(reports), axis=0)
    return (counts - len(reports) * q) / (p - q)


def client():
    if library == "pure-ldp":
        if oracle == "response":
            from pure_ldp.frequency_oracles.direct_encoding import DEClient
            return DEClient(epsilon, k, index_mapper=lambda x: x).privatise, estimated
        if oracle == "unary":
            from pure_ldp.frequency_oracles.unary_encoding import UEClient
            return UEClient(epsilon, k, use_oue=True, index_mapper=lambda x: x).privatise, estimated
        from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
        server = HadamardResponseServer(epsilon, k, index_mapper=lambda x: x)

        def counted(reports):
            server.reset()
            for report in reports:
                server.aggregate(report)
            return np.array([server.estimate(value, suppress_warnings=True) for value in range(k)])
        return HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=lambda x: x).privatise, counted
    from multi_freq_ldpy.pure_frequency_oracles import GRR, UE
    if oracle == "response":
        return lambda x: GRR.GRR_Client(x, k, epsilon), estimated
    return lambda x: UE.UE_Client(x, k, epsilon, True), estimated


one, estimate = client()
one(0)  # compiled by numba, or a table made
squares = seconds = 0.0
for _ in range(surveys):
    started = time.perf_counter()
    reports = [one(value) for value in said]
    seconds += time.perf_counter() - started
    squares += float(np.sum((estimate(reports) - truth) ** 2))
print(f"{math.sqrt(squares / surveys / k):.3f} {surveys * people / seconds:.0f}")
