"""Seconds and memory for the offline arms of all 700 trials, cold and from the cache.

Prints JSON. ``--plain TRIALS`` also times the plain way (tuples and dictionaries, breadth-first
search anew for each trial) on that many trials a domain, in this process, and gives the ratio of
CPU seconds a trial.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from omegaconf import OmegaConf

from beeline.arms import run_offline_arms
from beeline.draws import Draws
from beeline.engine import LocalEngine, Progress
from beeline.overrides import config_folder
from beeline.space import explore
from beeline.versions import Definition
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan, domain_of


def plans(cache: str) -> list[DomainPlan]:
    """One plan for each domain of version 1.0.0."""
    table = OmegaConf.to_container(OmegaConf.load(config_folder() / "version" / "1.0.0.yaml"))
    assert isinstance(table, dict)
    del table["name"]
    definition = Definition.read(table)
    found = []
    for name, entry in definition.domains.items():
        target = OmegaConf.load(config_folder() / "domain" / f"{name}.yaml").target
        found.append(
            DomainPlan.of(
                entry.parameters,
                name=name,
                target=target,
                heuristic=entry.heuristic,
                definition=definition.digest,
                limits=definition.limits,
                wording=WORDINGS[definition.wording],
                plugins=(),
                cache=cache,
            )
        )
    return found


def run_all(cache: str, trials: int) -> dict[str, dict[str, float]]:
    """Wall seconds of each domain."""
    engine = LocalEngine()
    seconds = {}
    try:
        for plan in plans(cache):
            begin = time.perf_counter()
            owed = [(trial, 1) for trial in range(1, trials + 1)]
            asyncio.run(engine.run(plan, owed, None, lambda batch: None, Progress()))
            seconds[plan.name] = {"wall_s": round(time.perf_counter() - begin, 3)}
    finally:
        pool = engine._pool
        if pool is not None:
            pool.shutdown(wait=True)
        engine.close()
    return seconds


def one_run(cache: str, trials: int) -> None:
    """Body of a fresh process: run, print JSON."""
    begin = time.perf_counter()
    domains = run_all(cache, trials)
    wall = time.perf_counter() - begin
    print(json.dumps({"wall_s": round(wall, 3), "domains": domains}))


def session_kib(session: int) -> int:
    """Proportional memory of all processes of a session, in KiB (Linux)."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) != session:
                continue
            for line in stat.with_name("smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except (OSError, ValueError):
            continue  # it has ended
    return total


def cpu_per_domain(trials: int) -> dict[str, float]:
    """CPU seconds a trial with the kernels, one process, nothing cached."""
    seconds = {}
    for plan in plans(""):
        domain = domain_of(plan)
        begin = time.process_time()
        for trial in range(1, trials + 1):
            instance = domain.draw(trial, Draws(plan.name, trial))
            run_offline_arms(domain.space(trial, instance), plan.name, trial, plan.limits)
        seconds[plan.name] = (time.process_time() - begin) / trials
    return seconds


def plain_cpu_per_domain(trials: int) -> dict[str, float]:
    """The same with the generic search over the readable problem (drawing is shared)."""
    seconds = {}
    for plan in plans(""):
        domain = domain_of(plan)
        begin = time.process_time()
        for trial in range(1, trials + 1):
            instance = domain.draw(trial, Draws(plan.name, trial))
            space = explore(domain.build(trial, instance))
            run_offline_arms(space, plan.name, trial, plan.limits)
        seconds[plan.name] = (time.process_time() - begin) / trials
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--plain", type=int, default=0, metavar="TRIALS")
    parser.add_argument("--run", metavar="CACHE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        one_run(options.run, options.trials)
        return
    report: dict[str, object] = {"cores": os.cpu_count(), "trials_per_domain": options.trials}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "second_run"):
            begin = time.perf_counter()
            command = [sys.executable, __file__, "--run", cache, "--trials", str(options.trials)]
            run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
            peak = 0
            while run.poll() is None:
                peak = max(peak, session_kib(run.pid))
                time.sleep(0.02)
            assert run.returncode == 0
            assert run.stdout is not None
            found = json.loads(run.stdout.read()) | {"peak_mib_all_processes": peak // 1024}
            report[name] = found | {"process_s": round(time.perf_counter() - begin, 3)}
    kernels = cpu_per_domain(options.trials)
    report["cpu_s"] = {name: round(value * options.trials, 2) for name, value in kernels.items()}
    if options.plain:
        plain = plain_cpu_per_domain(options.plain)
        report["plain_trials"] = options.plain
        report["ratio_to_plain"] = {name: round(plain[name] / kernels[name], 1) for name in plain}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
