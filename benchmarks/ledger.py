"""What it costs to ask the ledger before a request and to tell it afterwards. Prints JSON.

    python -m benchmarks.ledger [--pairs 20000] [--folder DIR]

Wall and CPU time of one begin and one settle, with caps that never bind, by the number of
processes that do nothing else on one file; the totals must come out exactly.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

from beeline.ledger import FILE, Ledger
from beeline.services import Estimate
from beeline.spend_caps import Caps
from beeline.spend_report import read_spending

CAPS = Caps(usd=1e6, tokens=10**15, requests=10**12)
EXPECTED = Estimate(2000, 1, 0.000084)
TOOK = Estimate(2100, 1, 0.0000882)


def hammer(path: Path, pairs: int, start: Any, found: Any) -> None:
    """Begin and settle ``pairs`` requests; put wall and CPU seconds a pair, and the slowest pair."""
    with Ledger(path, CAPS) as ledger:
        account = ledger.account("bench", CAPS)
        start.wait()
        slowest = 0.0
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(pairs):
            sent = time.perf_counter()
            account.settle(account.begin(EXPECTED), TOOK)
            slowest = max(slowest, time.perf_counter() - sent)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        found.put((wall / pairs, cpu / pairs, slowest))


def measure(path: Path, processes: int, pairs: int) -> dict[str, Any]:
    """Run ``processes`` hammers on one file."""
    context = multiprocessing.get_context("forkserver")
    start, found = context.Barrier(processes), context.Queue()
    running = [context.Process(target=hammer, args=(path, pairs, start, found)) for _ in range(processes)]
    for process in running:
        process.start()
    seconds = [found.get() for _ in running]
    for process in running:
        process.join()
    row = read_spending(path).models[0]
    assert (row.requests, row.input_exact) == (processes * pairs, processes * pairs * 2100), row
    return {
        "microseconds_a_pair": round(1e6 * sum(wall for wall, _, _ in seconds) / processes, 1),
        "cpu_microseconds_a_pair": round(1e6 * sum(cpu for _, cpu, _ in seconds) / processes, 1),
        "pairs_a_second_in_all": round(sum(1 / wall for wall, _, _ in seconds)),
        "slowest_pair_ms": round(1e3 * max(slow for _, _, slow in seconds), 1),
        "file_bytes": path.stat().st_size,
    }


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--folder", help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    result: dict[str, Any] = {"cpus": os.cpu_count(), "sqlite": sqlite3.sqlite_version}
    for processes in (1, 4):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            result[f"{processes}"] = measure(Path(folder, FILE), processes, options.pairs // processes)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
