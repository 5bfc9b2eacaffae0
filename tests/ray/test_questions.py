"""Questions outside trials go to the model where it is placed, and come back as if asked from here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beeline.ledger import FILE
from beeline.spend_report import read_spending
from protocols.fake import FakeServer
from tests.ray.asked import asked, write
from tests.ray.cluster import Nodes
from tests.ray.running import run, variables

pytestmark = pytest.mark.ray

PLACED = ("engine=ray", "model.placement={resources: {second_gpu: 0.5}, replicas: 2}")


def ask(folder: Path, function: str, *more: str, **variables: str) -> subprocess.CompletedProcess[str]:
    write(folder)
    model = ("model=python", f"model.function=chosen:{function}", "plugins=[chosen]", "model.id=chosen")
    ran = run(folder, "domain=countdown", *model, "model.kinds=[choice,noul,score]", *more, **variables)
    assert ran.returncode == 0, ran.stderr
    return ran


def answers(folder: Path) -> list[dict[str, Any]]:
    """By trial and question, without times."""
    (path,) = (folder / "results" / "questions").rglob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["seconds"]
    return sorted(lines, key=lambda line: (line["trial"], line["asked"]))


def test_single_questions(nodes: Nodes, tmp_path: Path) -> None:
    study = ("study=single_question", "trials=3")
    near = ask(tmp_path / "near", "weigh", *study)
    far = ask(tmp_path / "far", "weigh", *study, *PLACED, **variables(nodes))
    pids, parents = asked(tmp_path / "far")
    assert parents == {nodes.raylet("second")}
    assert len(pids) == 2
    assert nodes.raylet("second") not in asked(tmp_path / "near")[1]
    found = answers(tmp_path / "far")
    assert found
    assert found == answers(tmp_path / "near")
    assert near.stdout == far.stdout.replace(str(tmp_path / "far"), str(tmp_path / "near"))


def test_a_probe(nodes: Nodes, tmp_path: Path) -> None:
    near = ask(tmp_path / "near", "wait", "study=probe")
    far = ask(tmp_path / "far", "wait", "study=probe", *PLACED, **variables(nodes))
    assert asked(tmp_path / "far")[1] == {nodes.raylet("second")}
    said = [
        [line for line in ran.stdout.splitlines()[1:] if not line.startswith(("  answered in", "records,"))]
        for ran in (near, far)
    ]
    assert said[0] == said[1]
    assert "It can run the benchmark" in far.stdout


def test_what_a_placed_model_spends_is_in_the_ledger(nodes: Nodes, tmp_path: Path) -> None:
    with FakeServer() as server:
        model = ("model=local", f"model.base_url={server.base_url}", "model.id=fake")
        one = ("engine=ray", "model.placement={resources: {second_gpu: 1}}")
        ran = run(tmp_path, "study=probe", *model, *one, **variables(nodes))
        assert ran.returncode == 0, ran.stderr
        assert server.requests == 1
    (spent,) = read_spending(tmp_path / "results" / FILE).models
    assert (spent.requests, spent.unanswered, spent.flying) == (1, 0, 0)
