"""kill -9 at seeded moments of a run, then the same command: the records of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from tests.commands import beeline, command, environment, records

RUN = ("domain=keys_doors", "model=sparrow", "trials=12")
NAME = ("1.0.0", "sparrow", "score", "keys_doors.benchmark.jsonl")
KILLS = 8


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(folder, *RUN),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_killed_runs_end_with_the_records_of_an_undisturbed_one(tmp_path: Path) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    calm.mkdir()
    stormy.mkdir()
    assert beeline(calm, *RUN).returncode == 0
    moments = random.Random(20)
    for _ in range(KILLS):
        run = start(stormy)
        time.sleep(moments.uniform(0.3, 1.6))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    ended = beeline(stormy, *RUN)
    assert ended.returncode == 0, ended.stderr
    assert records(stormy, *NAME) == records(calm, *NAME)


def test_an_interrupt_ends_in_order_and_resumes(tmp_path: Path) -> None:
    run = start(tmp_path)
    path = tmp_path.joinpath("results", *NAME)
    while not (path.exists() and path.stat().st_size) and run.poll() is None:
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGINT)
    assert run.wait(timeout=20) == 130
    kept = records(tmp_path, *NAME)
    assert kept
    assert beeline(tmp_path, *RUN).returncode == 0
    ended = records(tmp_path, *NAME)
    assert len(ended) == 12
    assert all(record in ended for record in kept)
