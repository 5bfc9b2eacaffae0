"""What running the jobs of a sweep side by side gains over one after the other. Prints JSON.

    python benchmarks/sweep.py [--engine "engine=ray engine.workers=2"]

Four domains, 40 trials each, 64 in flight, the test server with 100 ms latency. Seconds from the first
question to the last record; of single runs their sum, without the start of each. The best possible is
max(longest trial, total latency / 64) at the nominal latency.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

DOMAINS = ("countdown", "keys_doors", "rush_hour", "blocksworld")
IN_FLIGHT = 64
LATENCY_S = 0.1


def run(folder: str, url: str, domains: str, more: list[str]) -> None:
    """One command line."""
    subprocess.run(
        [
            *(sys.executable, "-m", "beeline", "-m", f"domain={domains}", "trials=40", "tracking=none"),
            *("model=local", f"model.base_url={url}", "model.id=fake-1", f"model.concurrency={IN_FLIGHT}"),
            *("version.max_expansions=100", "custom=short", f"results={folder}", *more),
        ],
        env=os.environ | {"BEELINE_CACHE": f"{folder}/cache"},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def seconds(folder: str, domains: tuple[str, ...]) -> tuple[float, float]:
    """From the first question of these domains to their last record, and the best possible."""
    starts, ends, requests = [], [], []
    for domain in domains:
        path = Path(folder, f"custom-short/local/score/{domain}.benchmark.jsonl")
        for line in path.read_text("utf-8").splitlines():
            record: dict[str, Any] = json.loads(line)
            starts.append(datetime.fromisoformat(record["started_utc"]))
            ends.append(datetime.fromisoformat(record["finished_utc"]))
            requests.append(record["arms"]["model"]["requests"])
    best = max(max(requests), sum(requests) / IN_FLIGHT) * LATENCY_S
    return (max(ends) - min(starts)).total_seconds(), best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engine", default="", help="overrides, separated by blanks")
    more = parser.parse_args().engine.split()
    command = [sys.executable, "-m", "protocols.fake", "--port", "0", "--latency-ms", str(1000 * LATENCY_S)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[3]
            run(f"{folder}/sweep", url, ",".join(DOMAINS), more)
            together, best = seconds(f"{folder}/sweep", DOMAINS)
            alone = []
            for domain in DOMAINS:
                run(f"{folder}/{domain}", url, domain, more)
                alone.append(seconds(f"{folder}/{domain}", (domain,))[0])
        finally:
            server.terminate()
    found = {
        "side_by_side_s": round(together, 2),
        "one_by_one_s": round(sum(alone), 2),
        "ratio": round(sum(alone) / together, 2),
        "share_of_best": round(best / together, 3),
    }
    print(json.dumps({"in_flight": IN_FLIGHT, "domains": len(DOMAINS), **found}))


if __name__ == "__main__":
    main()
