"""How close 64 trials in flight come to the best possible against a server with 100 ms latency.

Starts the test server in a process of its own, runs 100 countdown trials through
``python -m beeline`` with ``model=local`` and compares the time from the first question to the
last record with max(longest trial, total latency / 64). Prints JSON.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

IN_FLIGHT = 64
LATENCY_MS = 100


def main() -> None:
    """Measure and print."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "protocols.fake", "--port", str(port), "--latency-ms", str(LATENCY_MS)],
        stdout=subprocess.DEVNULL,
    )
    try:
        time.sleep(2)
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "beeline",
                    "domain=countdown",
                    "trials=100",
                    "tracking=none",
                    "model=local",
                    f"model.base_url=http://127.0.0.1:{port}/v1",
                    "model.id=fake-1",
                    f"model.concurrency={IN_FLIGHT}",
                    f"results={folder}/results",
                ],
                env=os.environ | {"BEELINE_CACHE": f"{folder}/cache"},
                check=True,
                stdout=subprocess.DEVNULL,
            )
            whole = time.perf_counter() - begin
            lines = (
                Path(folder, "results/1.0.0/local/score/countdown.benchmark.jsonl").read_text().splitlines()
            )
            records = [json.loads(line) for line in lines]
    finally:
        server.terminate()
        server.wait()
    requests = [record["arms"]["model"]["requests"] for record in records]
    starts = [datetime.fromisoformat(record["started_utc"]) for record in records]
    ends = [datetime.fromisoformat(record["finished_utc"]) for record in records]
    # By the latencies that the client met (the nominal 100 ms and what the server adds to it).
    waits = [record["arms"]["model"]["latency_ms"]["total"] / 1000 for record in records]
    best = max(max(waits), sum(waits) / IN_FLIGHT)
    nominal = max(max(requests), sum(requests) / IN_FLIGHT) * LATENCY_MS / 1000
    took = (max(ends) - min(starts)).total_seconds()
    print(
        json.dumps(
            {
                "requests": sum(requests),
                "longest_trial": max(requests),
                "best_possible_s": round(best, 2),
                "mean_latency_ms": round(1000 * sum(waits) / sum(requests), 1),
                "run_s": round(took, 2),
                "share_of_best": round(best / took, 3),
                "share_of_best_at_nominal_latency": round(nominal / took, 3),
                "process_s": round(whole, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
