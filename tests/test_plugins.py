"""Somebody else's package adds a domain, a model, a study and a tracker; nothing of ours is touched."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.commands import command, environment

FILES = {
    "__init__.py": "",
    "conf/__init__.py": "",
    "conf/domain/line.yaml": "name: line\ntarget: theirs.line:Line\n",
    "conf/model/mine.yaml": "name: mine\ntarget: theirs.model:Mine\n",
    "conf/study/twice.yaml": "name: twice\ntarget: theirs.study:Twice\n",
    "conf/tracking/notebook.yaml": "name: notebook\ntarget: theirs.tracker:Notebook\n",
    "line.py": """
from dataclasses import dataclass
from beeline.problem import Domain, Problem

class LineProblem(Problem[int]):
    objective, context, start = "reach the last place", "steps of one or two", 0
    def __init__(self, goal):
        self.goal = goal
    def successors(self, s):
        return [t for t in (s - 1, s + 1, s + 2) if 0 <= t <= self.goal + 3]
    def is_goal(self, s):
        return s == self.goal
    def heuristic(self, s):
        return abs(self.goal - s)
    def render(self, s):
        return f"place {s}"

@dataclass(frozen=True)
class Parameters:
    length: int

class Line(Domain):
    name, title, task, heuristics, Parameters = "line", "Line", "Walk a line.", ("ahead",), Parameters
    def draw(self, trial, draws):
        return self.parameters.length + draws.below(9)
    def build(self, trial, instance):
        return LineProblem(instance)
""",
    "model.py": """
from beeline.model import Model
from beeline.question import Answer

class Mine(Model):
    placement = "worker"
    @classmethod
    def from_settings(cls, name, settings, plugins=()):
        model = cls()
        model.name, model.model_id = name, "mine-1"
        return model
    def describe(self):
        return {}
    def answer_now(self, question):
        return Answer([1.0] * len(question.options))
""",
    "study.py": """
from beeline.study import Condition, Study

class Twice(Study):
    name, asks_model = "twice", True
    def conditions(self):
        return (Condition("again", repeats=2),)
""",
    "tracker.py": """
class Notebook:
    def __init__(self, results):
        self.results = results
    @classmethod
    def from_settings(cls, settings, results):
        return cls(results)
    def log(self, cell, records, summary, spec):
        (self.results / "notebook.txt").write_text(f"{cell.domain} {len(records)}")
        return "noted"
""",
}

RUN = (
    "hydra.searchpath=[pkg://theirs.conf]",
    "domain=line",
    "model=mine",
    "study=twice",
    "+version.domains.line={heuristic:ahead,parameters:{length:12}}",
    "custom=lines",
    "trials=3",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "theirs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    words = [word for word in command(folder, *overrides) if word != "tracking=none"]
    return subprocess.run(
        [*words, "tracking=notebook"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_package_adds_one_of_each(folder: Path) -> None:
    ended = run(folder, *RUN, "plugins=[theirs]")
    assert ended.returncode == 0, ended.stderr
    path = folder / "results" / "custom-lines" / "mine" / "twice" / "line.again.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((r["trial"], r["repeat"]) for r in found) == [(t, r) for t in (1, 2, 3) for r in (1, 2)]
    assert all(r["arms"]["oracle"]["score"] == 1.0 for r in found)
    assert all(r["arms"]["model"]["ties"] == r["arms"]["model"]["requests"] > 0 for r in found)
    assert (folder / "results" / "notebook.txt").read_text() == "line 6"


def test_it_must_be_trusted_by_name(folder: Path) -> None:
    ended = run(folder, *RUN)
    assert ended.returncode == 2
    assert "plugins=[theirs]" in ended.stderr
    assert not (folder / "results" / "custom-lines").exists()
