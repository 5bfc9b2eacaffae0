"""How cost grows with states, trials, options and workers: measured points, as JSON and a plot.

``--plot FILE`` writes the four panels (SVG or PNG by the ending). The point of 8 blocks is
measured in a fresh process with its peak memory: one trial, drawn, with all distances.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from typing import Any

from beeline.digest import canonical
from beeline.draws import Draws
from beeline.engine import Asking, LocalEngine, Progress, TrialDone
from beeline.search import Limits
from beeline.worker import DomainPlan, domain_of
from benchmarks.decisions import CELL, Instant
from benchmarks.offline import plans


def one_space(blocks: int) -> None:
    """Body of a fresh process: one blocksworld trial with distances."""
    plan = replace(plan_of("blocksworld", ""), parameters=canonical({"blocks": blocks}))
    begin = time.perf_counter()
    domain = domain_of(plan)
    space = domain.space(1, domain.draw(1, Draws(plan.name, 1)))
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        json.dumps({"blocks": blocks, "x": space.states_reachable, "y": round(seconds, 4), "peak_mib": peak})
    )


def plan_of(name: str, cache: str) -> DomainPlan:
    """The plan of one domain of version 1.0.0."""
    return next(plan for plan in plans(cache) if plan.name == name)


def offline_seconds(name: str, trials: int, workers: int) -> float:
    """Wall seconds of the offline arms with warm worker processes and nothing cached."""
    plan = replace(plan_of(name, ""), cache=None)
    engine = LocalEngine(workers)

    def go(numbers: range) -> None:
        owed = [(trial, 1) for trial in numbers]
        asyncio.run(engine.run(plan, owed, None, lambda batch: None, Progress()))

    try:
        go(range(1, 1 + 4 * workers))
        begin = time.perf_counter()
        go(range(1, trials + 1))
        return round(time.perf_counter() - begin, 3)
    finally:
        engine.close()


def decision_ms(options: int) -> float:
    """CPU milliseconds a decision of the model side when the frontier holds ``options``."""
    with tempfile.TemporaryDirectory() as folder:
        plan = replace(
            plan_of("word_ladder", folder), limits=Limits(800, options), definition=f"{options:016d}"
        )
        engine, asked = LocalEngine(), 0
        try:
            owed = [(trial, 1) for trial in range(1, 5)]
            asyncio.run(engine.run(plan, owed, None, lambda batch: None, Progress()))

            def store(batch: list[TrialDone]) -> None:
                nonlocal asked
                asked += sum(done.result["arms"]["model"]["requests"] for done in batch)

            begin = time.process_time()
            asyncio.run(engine.run(plan, owed, Asking(Instant(), "{}", CELL), store, Progress()))
            return round(1000 * (time.process_time() - begin) / asked, 4)
        finally:
            engine.close()


def plot(report: dict[str, Any], path: str) -> None:
    """Four small panels."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 4, figsize=(11, 2.6), layout="constrained")
    titles = {
        "states": ("states (blocksworld)", "s, one trial with distances"),
        "trials": ("trials (tiles, offline arms)", "s, both cores"),
        "options": ("options in the frontier", "CPU ms a decision"),
        "workers": ("workers (wikispeedia)", "s, 100 trials"),
    }
    for panel, (key, (across, up)) in zip(panels, titles.items(), strict=True):
        points = report[key]
        panel.plot([p["x"] for p in points], [p["y"] for p in points], "o-", color="#0072b2", markersize=4)
        panel.set(xlabel=across, ylabel=up)
        if key == "states":
            panel.set_xscale("log")
            panel.set_yscale("log")
        else:
            panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    panels[3].set_xticks([p["x"] for p in report["workers"]])
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    """Measure, print, plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--space", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.space:
        one_space(options.space)
        return
    states = []
    for blocks in (4, 5, 6, 7, 8):
        command = [sys.executable, __file__, "--space", str(blocks)]
        states.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    decision_ms(16)  # the first use pays for imports and tables
    report: dict[str, Any] = {
        "states": states,
        "trials": [{"x": n, "y": offline_seconds("tiles", n, 2)} for n in (10, 25, 50, 75, 100)],
        "options": [{"x": n, "y": decision_ms(n)} for n in (16, 32, 64, 128, 255)],
        "workers": [{"x": n, "y": offline_seconds("wikispeedia", 100, n)} for n in (1, 2, 3, 4)],
    }
    print(json.dumps(report, indent=2))
    if options.plot:
        plot(report, options.plot)


if __name__ == "__main__":
    main()
