"""The yardstick of `npm run bench -- engine`: the same two figures from Python's torch, as JSON.

Usage: engine.py THREADS
"""
import json
import sys
import time

import torch


def best(rounds, body):
    shortest = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        body()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def main():
    torch.set_num_threads(int(sys.argv[1]))
    with torch.no_grad():
        a, b = torch.rand(2, 3), torch.rand(2, 3)

        def additions():
            for _ in range(10_000):
                a.add(b)

        additions()
        operator = best(15, additions) / 10_000 * 1e6
        size = 1024
        x, y = torch.rand(size, size), torch.rand(size, size)
        gemm = 2 * size**3 / best(8, lambda: x.mm(y)) / 1e9
    print(
        json.dumps(
            {
                "version": torch.__version__,
                "threads": torch.get_num_threads(),
                "operatorMicroseconds": operator,
                "gemmGflops": gemm,
            }
        )
    )


main()
