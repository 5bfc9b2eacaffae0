"""kill -9 at seeded moments of a run, then the same command: the records of an undisturbed run."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from beeline.stops import find_stops
from tests.commands import beeline, command, environment, records

RUN = ("domain=keys_doors", "model=sparrow", "trials=12")
NAME = ("1.0.0", "sparrow", "score", "keys_doors.benchmark.jsonl")
SWEEP = ("-m", "domain=countdown,keys_doors", "model=first_option", "trials=20")
SWEEP_NAMES = [
    ("1.0.0", "first_option", "score", f"{domain}.benchmark.jsonl") for domain in ("countdown", "keys_doors")
]
KILLS = 6


def start(folder: Path, *overrides: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(folder, *overrides),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def finished(folder: Path) -> int:
    """Whole lines in both records files."""
    paths = [folder.joinpath("results", *name) for name in SWEEP_NAMES]
    return sum(path.read_bytes().count(b"\n") for path in paths if path.exists())


def test_killed_runs_end_with_the_records_of_an_undisturbed_one(tmp_path: Path) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    calm.mkdir()
    stormy.mkdir()
    assert beeline(calm, *SWEEP).returncode == 0
    moments = random.Random(20)
    left = []
    for kill in range(KILLS):
        before = finished(stormy)
        run = start(stormy, *SWEEP)
        # The first kill meets the start; the others meet trials being written, on any machine.
        while kill and finished(stormy) == before and run.poll() is None:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.1))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        left.append(finished(stormy))
        assert left[-1] >= before
    total = finished(calm)
    assert any(0 < count < total for count in left), left
    ended = beeline(stormy, *SWEEP)
    assert ended.returncode == 0, ended.stderr
    for name in SWEEP_NAMES:
        assert records(stormy, *name) == records(calm, *name)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_in_order_and_resumes(number: int, code: int, tmp_path: Path) -> None:
    run = start(tmp_path, *RUN)
    path = tmp_path.joinpath("results", *NAME)
    while not (path.exists() and path.stat().st_size) and run.poll() is None:
        time.sleep(0.01)
    os.kill(run.pid, number)
    assert run.wait(timeout=20) == code
    kept = records(tmp_path, *NAME)
    assert kept
    (stop,) = find_stops(tmp_path / "results")
    assert (stop.reason, stop.finished) == ("interrupted; the same command resumes", len(kept))
    assert beeline(tmp_path, *RUN).returncode == 0
    ended = records(tmp_path, *NAME)
    assert len(ended) == 12
    assert all(record in ended for record in kept)
    assert not list(find_stops(tmp_path / "results"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_early_interrupt_ends_at_once(number: int, code: int, tmp_path: Path) -> None:
    """While settings are read: neither Hydra's words nor a traceback of ours. (Before our first
    line it is Python that ends, in its own way.)"""
    codes = set()
    for moment in (0.1, 0.2, 0.3, 0.4, 0.6):
        run = subprocess.Popen(
            command(tmp_path, *RUN),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(moment)
        os.kill(run.pid, number)
        _, said = run.communicate(timeout=20)
        for word in ("hydra", "omegaconf", "app.py"):
            assert word not in said, said
        codes.add(run.returncode)
    assert codes <= {code, -number}


def test_workers_end_when_only_the_main_process_is_killed(tmp_path: Path) -> None:
    run = subprocess.Popen(
        command(tmp_path, *RUN),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    path = tmp_path.joinpath("results", *NAME)
    while not (path.exists() and path.stat().st_size) and run.poll() is None:
        time.sleep(0.01)
    run.kill()
    try:
        # The pipe closes when the last process that holds it has ended.
        run.communicate(timeout=20)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == -signal.SIGKILL
