"""Milliseconds of the statistics, and seconds of a report over many models.

Prints JSON: the bootstrap against a plain loop with the same bits; each other method at the size a
study has; and ``summarise`` with all intervals over invented records of 7 domains of 100 trials
for ``--models`` models, which share their offline arms as real ones do.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from beeline.draws import Draws
from beeline.records import Record
from beeline.scoring import overall, summarise
from beeline.statistics import RESAMPLES, bootstrap_means
from beeline.statistics.calibration import calibration_error, calibration_test, reliability_curve
from beeline.statistics.discrimination import auc, rank_correlation
from beeline.statistics.paired import compare
from beeline.statistics.position import positions
from beeline.statistics.variance import by_trials, variance_components

DOMAINS = [f"domain{k}" for k in range(7)]


def milliseconds(function: Callable[[], Any], times: int = 5) -> float:
    """Median over some calls, after one that warms up."""
    function()
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        found.append((time.perf_counter() - begin) * 1000)
    return round(float(np.median(found)), 3)


def plain_bootstrap(values: list[float], path: tuple[str, ...]) -> list[float]:
    """The rules read aloud."""
    draws = Draws(*path)
    return [math.fsum(draws.choice(values) for _ in values) / len(values) for _ in range(RESAMPLES)]


def invented(models: int) -> list[list[Record]]:
    """Records of one cell after the other; offline arms are the same for every model."""
    rng = np.random.RandomState(0)

    def arm() -> dict[str, Any]:
        expansions = int(rng.randint(8, 2_500))
        decisions = int(rng.randint(5, 60))
        optimal, dead = (int(rng.randint(0, decisions // 2 + 1)) for _ in range(2))
        choices = {"decisions": decisions, "optimal": optimal, "regret": 7, "dead_ends": dead}
        return {
            "expansions": expansions,
            "solved": bool(expansions < 2_300),
            "path_length": 9,
            "score": 8 / expansions,
            "path_score": 7 / 9,
            "choices": choices | {"contested": 4, "on_path": int(rng.randint(0, 5))},
        }

    offline = {
        (domain, trial): {name: arm() for name in ("oracle", "heuristic", "random")}
        for domain in DOMAINS
        for trial in range(1, 101)
    }
    usage = {"requests": 9, "latency_ms": {"count": 9, "total": 90.0, "buckets": {"24": 9}}}
    return [
        [
            Record(
                version="1.0.0",
                definition="d",
                spec="s",
                suite="navigation",
                domain=domain,
                heuristic="h",
                model=f"model{k}",
                model_id=f"model{k}",
                study="score",
                condition="benchmark",
                trial=trial,
                repeat=0,
                shortest_path=7,
                states_reachable=9_000,
                states_reaching_goal=9_000,
                arms=offline[domain, trial] | {"model": arm() | usage},
                started_utc="2026-01-01T00:00:00Z",
                finished_utc="2026-01-01T00:00:01Z",
                code="c",
            )
            for trial in range(1, 101)
        ]
        for k in range(models)
        for domain in DOMAINS
    ]


def methods() -> dict[str, float]:
    """Milliseconds of each at the size of a study: 100 trials, 3,000 decisions."""
    rng = np.random.RandomState(1)
    logs = np.log(rng.uniform(0.01, 1, 100)).tolist()
    ours, theirs = (
        {(d, t, 0): x for d in DOMAINS for t, x in enumerate(rng.uniform(0.01, 1, 100))} for _ in "ab"
    )
    cube = rng.normal(size=(50, 3, 3))
    trials = np.repeat(np.arange(100), 30)
    p = rng.beta(2, 2, 3_000)
    y = rng.uniform(size=3_000) < p
    size = 2 + rng.randint(0, 254, 3_000)
    place = (rng.uniform(size=3_000) * size).astype(int).tolist()
    owners = trials.tolist()
    assert bootstrap_means(logs, ("b",)) == plain_bootstrap(logs, ("b",))
    return {
        "bootstrap_means": milliseconds(lambda: bootstrap_means(logs, ("b",)), 20),
        "bootstrap_means_plain": milliseconds(lambda: plain_bootstrap(logs, ("b",))),
        "compare": milliseconds(lambda: compare(ours, theirs, ("c",))),
        "variance_components": milliseconds(lambda: variance_components(cube)),
        "variance_by_trials": milliseconds(lambda: by_trials(cube, ("v",))),
        "calibration_error": milliseconds(lambda: calibration_error(p, y, owners)),
        "calibration_test": milliseconds(lambda: calibration_test(p, y, ("c",))),
        "reliability_curve": milliseconds(lambda: reliability_curve(p, y, owners)),
        "auc": milliseconds(lambda: auc(p, y, owners)),
        "rank_correlation": milliseconds(lambda: rank_correlation(p, size, ("r",), owners)),
        "positions": milliseconds(lambda: positions(place, size.tolist(), ("p",), owners)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=10)
    options = parser.parse_args()
    found: dict[str, Any] = {"milliseconds": methods()}
    cells = invented(options.models)
    begin = time.perf_counter()
    summaries = [summarise(cell) for cell in cells]
    for k in range(options.models):
        overall(summaries[7 * k : 7 * k + 7], DOMAINS)
    found["report"] = {"models": options.models, "records": 700 * options.models}
    found["report"]["seconds"] = round(time.perf_counter() - begin, 2)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
