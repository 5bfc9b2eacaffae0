"""Sweeps over Ray: one process asks a model for all jobs, and a job that fails leaves the others alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from protocols.fake import FakeServer
from tests.faults.running import Running, against
from tests.ray.cluster import Nodes
from tests.ray.running import all_records, run, variables

pytestmark = pytest.mark.ray

RAY = ("engine=ray", "engine.workers=2")
WIDE = "model.concurrency=8"


def test_jobs_share_the_process_that_asks_their_model(nodes: Nodes, tmp_path: Path) -> None:
    with FakeServer(latency_ms=20) as server:
        sweep = ("-m", *against(server, WIDE, domain="countdown,keys_doors", trials=8))
        far, near = tmp_path / "far", tmp_path / "near"
        ran = run(far, *sweep, *RAY, **variables(nodes))
        assert ran.returncode == 0, ran.stderr
        assert server.most_in_flight == 8
        assert "sweep: 2 jobs, 2 done" in ran.stdout
        with Running(near, sweep) as going:
            assert going.end() == 0, going.stderr
    assert all_records(far) == all_records(near)


def test_a_failed_job_leaves_the_trials_of_others_alone(nodes: Nodes, tmp_path: Path) -> None:
    text = (
        "import asyncio\n"
        "async def decide(question):\n"
        "    await asyncio.sleep(0.02)\n"
        "    if 'key' in question.task and len(question.options) > 3:\n"
        "        raise ValueError('no keys, please')\n"
        "    return {question.options[0]: 1.0}\n"
    )
    model = ("model=python", "model.function=mine:decide", "plugins=[mine]", WIDE, "trials=4")
    short = ("version.max_expansions=30", "custom=short")
    found = []
    for name, engine in (("far", RAY), ("near", ())):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mine.py").write_text(text)
        ran = run(
            folder, "-m", "domain=countdown,keys_doors,tiles", *model, *short, *engine, **variables(nodes)
        )
        assert ran.returncode == 1
        assert ran.stderr.count("no keys, please") == 1, ran.stderr
        assert "Traceback" not in ran.stderr
        assert "was lost" not in ran.stderr
        (kept,) = (folder / "results" / "sweeps").glob("*.json")
        states = {job["domain"]: job["state"] for job in json.loads(kept.read_text("utf-8"))["jobs"]}
        assert states == {"countdown": "done", "keys_doors": "failed", "tiles": "done"}
        records = all_records(folder)
        found.append({name: records[name] for name in records if "keys_doors" not in name})
    assert len(found[0]) == 2
    assert found[0] == found[1]
