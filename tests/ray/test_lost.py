"""Processes, nodes and drivers that are killed in the middle of a run: nothing lost, nothing doubled."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from protocols.fake import FakeServer
from tests.faults.running import Running, against, undisturbed
from tests.ray.cluster import Nodes
from tests.ray.running import all_records, variables

pytestmark = pytest.mark.ray

TRIALS = 60
FEWER = 24
RAY = ("engine=ray", "engine.workers=2", "engine.in_flight=8", "model.concurrency=16")


def finished(folder: Path) -> int:
    return sum(
        path.read_bytes().count(b"\n") for path in (folder / "results" / "custom-short").rglob("*.jsonl")
    )


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calm")
    assert len(undisturbed(folder, "countdown", TRIALS)) == TRIALS
    return folder


def test_a_worker_and_then_a_node(nodes: Nodes, tmp_path: Path, calm: Path) -> None:
    nodes.add("third")
    with FakeServer(latency_ms=20) as server:
        more = (*RAY[:1], "engine.workers=3", *RAY[2:])
        with Running(tmp_path, against(server, *more, trials=TRIALS), **variables(nodes)) as run:
            run.until(lambda: finished(tmp_path) >= 5)
            for pid in nodes.actors("Runner", "second"):
                os.kill(pid, signal.SIGKILL)
            run.until(lambda: "on node second was lost" in run.stderr)
            before = finished(tmp_path)
            run.until(lambda: finished(tmp_path) > before)
            assert nodes.actors("Runner", "third"), "nothing to lose there"
            nodes.kill("third")
            run.until(lambda: "on node third was lost" in run.stderr)
            assert finished(tmp_path) < TRIALS
            assert run.end() == 0, run.stderr
        assert "Traceback" not in run.stderr
    assert all_records(tmp_path) == all_records(calm)


def test_the_process_that_asks_the_model(nodes: Nodes, tmp_path: Path, calm: Path) -> None:
    with FakeServer(latency_ms=20) as server:
        with Running(tmp_path, against(server, *RAY, trials=FEWER), **variables(nodes)) as run:
            run.until(lambda: finished(tmp_path) >= 3)
            (host,) = (pid for name in ("first", "second") for pid in nodes.actors("ModelHost", name))
            os.kill(host, signal.SIGKILL)
            assert run.end() == 0, run.stderr
        assert f"the process that asks model local, {host} on node " in run.stderr
        assert "Traceback" not in run.stderr
    assert all_records(tmp_path) == first(FEWER, calm)


def test_the_driver(nodes: Nodes, tmp_path: Path, calm: Path) -> None:
    with FakeServer(latency_ms=20) as server:
        overrides = against(server, *RAY, trials=FEWER)
        with Running(tmp_path, overrides, **variables(nodes)) as run:
            run.until(lambda: finished(tmp_path) >= 3)
            run.kill()
        assert 3 <= finished(tmp_path) < FEWER
        with Running(tmp_path, overrides, **variables(nodes)) as run:
            assert run.end() == 0, run.stderr
    assert all_records(tmp_path) == first(FEWER, calm)


def first(count: int, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of the first trials; those of a run do not depend on how many it has."""
    return {
        name: [record for record in found if record["trial"] <= count]
        for name, found in all_records(folder).items()
    }
