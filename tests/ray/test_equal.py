"""The same records, traces and archives on two nodes as with engine=local."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beeline.lines import read_lines
from beeline.spend_report import Spent, read_spending
from protocols.fake import FakeServer
from tests.faults.running import against
from tests.ray.cluster import Nodes
from tests.ray.running import all_records, run, variables
from tests.shared import shared_folder

pytestmark = pytest.mark.ray

DOMAINS = "tiles,blocksworld,countdown,rush_hour,keys_doors,word_ladder,transit_routing,basket_assembly"


def test_offline_arms(nodes: Nodes, tmp_path: Path) -> None:
    shared_folder("data")
    sweep = ("-m", f"domain={DOMAINS}", "study=baseline", "trials=3", "cache=off")
    near, far = tmp_path / "near", tmp_path / "far"
    alone = run(near, *sweep)
    assert alone.returncode == 0, alone.stderr
    spread = run(far, *sweep, "engine=ray", **variables(nodes))
    assert spread.returncode == 0, spread.stderr
    # One session for all jobs.
    assert spread.stderr.count(f"Ray at {nodes.address}: 2 nodes, 2 CPUs") == 1
    expected = all_records(near)
    assert len(expected) == len(DOMAINS.split(","))
    assert all_records(far) == expected


def test_a_model_over_http(nodes: Nodes, tmp_path: Path) -> None:
    found = []
    for engine in (("engine=local",), ("engine=ray", "engine.workers=2", "engine.in_flight=4")):
        folder = tmp_path / engine[0][-3:]
        with FakeServer("refusal%0.02", "all_zero%0.02", "overloaded~0.05") as server:
            ran = run(
                folder,
                *against(server, "archive=on", "model.concurrency=8", *engine, trials=12),
                **variables(nodes),
            )
            assert ran.returncode == 0, ran.stderr
            asked = server.requests
        (spent,) = read_spending(folder / "results" / "spend.sqlite").models
        assert spent.requests == asked
        found.append((all_records(folder), kept(folder, "traces"), kept(folder, "archive"), counts(spent)))
    assert found[0][0], "no records"
    assert len(found[0][1]) == len(found[0][2]) == 12
    assert found[0] == found[1]


def counts(spent: Spent) -> tuple[Any, ...]:
    return spent.requests, spent.rejected, spent.unanswered, spent.flying


def kept(folder: Path, kind: str) -> dict[str, Any]:
    """Files of a kind, times left out."""
    found = {}
    for path in sorted((folder / "results" / kind).rglob("*.gz")):
        header, lines = read_lines(path, kind)
        text = json.dumps([header, lines])
        found[path.name] = json.loads(text, object_hook=without_times)
    return found


def without_times(value: dict[str, Any]) -> dict[str, Any]:
    return {key: v for key, v in value.items() if key not in ("seconds", "request", "request_id", "retries")}
