"""How close 64 trials in flight over 2 workers of engine=ray come to the best possible. Prints JSON.

    python benchmarks/ray_engine.py [--engines ray,local] [--address local]

As benchmarks/latency.py: 100 countdown trials against the test server with 100 ms latency; the best is
max(longest trial, total latency / 64), by the latencies that the client met and by the nominal 100 ms,
and it is compared with the time from the first question to the last record. Starting Ray is not in it
and is shown apart. (This file is not called ray.py, which would hide Ray from scripts beside it.)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

IN_FLIGHT = 64
WORKERS = 2
LATENCY_MS = 100
ENGINES = {
    "ray": ("engine=ray", f"engine.workers={WORKERS}", f"engine.in_flight={IN_FLIGHT // WORKERS}"),
    "local": ("engine=local",),
}


def measure(engine: str, url: str, more: tuple[str, ...]) -> dict[str, Any]:
    """One run."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        subprocess.run(
            [
                *(sys.executable, "-m", "beeline", "domain=countdown", "trials=100", "tracking=none"),
                *(
                    "model=local",
                    f"model.base_url={url}",
                    "model.id=fake-1",
                    f"model.concurrency={IN_FLIGHT}",
                ),
                *(f"results={folder}/results", *ENGINES[engine], *more),
            ],
            env=os.environ | {"BEELINE_CACHE": f"{folder}/cache"},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        whole = time.perf_counter() - begin
        path = Path(folder, "results/1.0.0/local/score/countdown.benchmark.jsonl")
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    requests = [record["arms"]["model"]["requests"] for record in records]
    starts = [datetime.fromisoformat(record["started_utc"]) for record in records]
    ends = [datetime.fromisoformat(record["finished_utc"]) for record in records]
    waits = [record["arms"]["model"]["latency_ms"]["total"] / 1000 for record in records]
    lasted = sum((end - start).total_seconds() for start, end in zip(starts, ends, strict=True))
    took = (max(ends) - min(starts)).total_seconds()
    met = max(max(waits), sum(waits) / IN_FLIGHT)
    nominal = max(max(requests), sum(requests) / IN_FLIGHT) * LATENCY_MS / 1000
    return {
        "requests": sum(requests),
        "mean_latency_ms": round(1000 * sum(waits) / sum(requests), 1),
        "overhead_ms_a_question": round(1000 * (lasted - sum(waits)) / sum(requests), 2),
        "run_s": round(took, 2),
        "questions_per_s": round(sum(requests) / took, 1),
        "share_of_best": round(met / took, 3),
        "share_of_best_at_nominal_latency": round(nominal / took, 3),
        "process_s": round(whole, 2),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engines", default="ray,local")
    parser.add_argument("--address", default="local", help="of Ray; as engine.address")
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "protocols.fake", "--port", "0", "--latency-ms", str(LATENCY_MS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[3]
            found = {}
            for engine in arguments.engines.split(","):
                more = (f"engine.address={arguments.address}",) if engine == "ray" else ()
                found[engine] = measure(engine, url, more)
        finally:
            server.terminate()
    print(json.dumps({"in_flight": IN_FLIGHT, "workers": WORKERS, "cores": os.cpu_count(), **found}))


if __name__ == "__main__":
    main()
