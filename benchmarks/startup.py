"""Seconds from process start to the first stored result, and to the end, of a small run.

Runs ``python -m beeline domain=countdown trials=5 tracking=none`` several times in fresh
processes with an empty results folder and an empty cache. Prints JSON, medians first.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 5


def once() -> tuple[float, float]:
    """Seconds to the first record and to the end."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder, "results/1.0.0/sparrow/score/countdown.benchmark.jsonl")
        begin = time.perf_counter()
        run = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "beeline",
                "domain=countdown",
                "trials=5",
                "tracking=none",
                f"results={folder}/results",
            ],
            env=os.environ | {"BEELINE_CACHE": f"{folder}/cache"},
            stdout=subprocess.DEVNULL,
        )
        first = None
        while run.poll() is None:
            if first is None and records.exists() and records.stat().st_size:
                first = time.perf_counter() - begin
            time.sleep(0.002)
        end = time.perf_counter() - begin
        assert run.returncode == 0
        return first if first is not None else end, end


def main() -> None:
    """Measure and print."""
    found = [once() for _ in range(REPEATS)]
    print(
        json.dumps(
            {
                "first_result_s": round(statistics.median(first for first, _ in found), 2),
                "end_s": round(statistics.median(end for _, end in found), 2),
                "all": [[round(x, 2) for x in pair] for pair in found],
            }
        )
    )


if __name__ == "__main__":
    main()
