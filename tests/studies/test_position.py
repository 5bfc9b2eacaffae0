"""study=position: a liking that is planted is found, none is found where there is none; other tie rules."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from beeline.archive import Archive
from beeline.lines import write_lines
from beeline.model_arm import UsabilityGuard
from beeline.question import Answer, Question
from beeline.records import Cell
from beeline.space import Space
from beeline.worker import DomainPlan, TrialTask, begin_model_arm, open_space, run_offline
from protocols.fake import FakeServer
from protocols.first_option import FirstOption
from studies.position import Places, conclude, places_of
from studies.tie_rules import _broken, rerun
from tests.commands import beeline
from tests.plans import plan
from tests.studies.runs import TRIALS, copied

CELL = Cell("1.0.0", "it", "score", "countdown", "benchmark")


def searched(seed: int, liking: float) -> list[Places]:
    """20 trials of 15 questions of 2 to 60 options; ``liking`` of them take the first place unread."""
    draw = random.Random(seed)
    found = []
    for trial in range(20):
        sizes = [draw.randrange(2, 61) for _ in range(15)]
        places = [0 if draw.random() < liking else draw.randrange(n) for n in sizes]
        found.append(Places(tuple(places), tuple(sizes), (1,) * 15, 0, trial))
    return found


@pytest.mark.parametrize("liking", [0.0, 0.3])
def test_a_planted_liking_of_the_first_place_comes_back(liking: float) -> None:
    held = found = 0
    for seed in range(100):
        analysis = conclude(searched(seed, liking), [], [], CELL)
        first = analysis.data["positions"]["first"]
        held += first["low"] <= liking <= first["high"]
        found += analysis.data["positions"]["p_value"] < 0.05
    assert held >= 93
    assert found <= 10 if liking == 0 else found == 100


@cache
def opened() -> list[tuple[DomainPlan, int, Space]]:
    made = plan("countdown", "1.0.0")
    made = replace(made, limits=replace(made.limits, max_expansions=30))
    return [
        (made, trial, open_space(made, trial, run_offline(TrialTask(made, trial))["instance"]))
        for trial in range(1, 13)
    ]


def traced(seed: int, liking: float) -> list[Places]:
    """The first 30 steps of 12 searches, read from their traces, of a model that takes the first place
    unread in ``liking`` of its questions and else any option alike."""
    draw = random.Random(seed)
    model = FirstOption("first_option")
    found = []
    for made, trial, space in opened():
        steps = begin_model_arm(made, space, trial, model, UsabilityGuard(), True)
        try:
            question = next(steps)
            while True:
                size = len(question.options)
                weights = [0.0] * size
                weights[0 if draw.random() < liking else draw.randrange(size)] = 1.0
                question = steps.send(Answer(weights))
        except StopIteration as stop:
            found.append(places_of([json.loads(line) for line in stop.value.trace.lines], trial))
    return found


@pytest.mark.parametrize("liking", [0.0, 0.2])
def test_a_planted_liking_comes_back_from_real_searches(liking: float) -> None:
    held = found = 0
    for seed in range(100):
        seen = conclude(traced(seed, liking), [], [], CELL).data["positions"]
        held += seen["first"]["low"] <= liking <= seen["first"]["high"]
        found += seen["p_value"] < 0.05
    assert held >= 93
    assert found <= 10 if liking == 0 else found >= 93


def test_what_a_trace_says() -> None:
    step = {"forced": False, "fallback": False, "frontier": 3, "chosen": 2, "order": [1, 2, 0]}
    lines: list[dict[str, Any]] = [
        {"forced": True},
        {**step, "top": [[2, 0.5, 1], [1, 0.3, 2], [0, 0.2, 4]]},
        {**step, "top": [[2, 0.4, 1], [1, 0.4, 2], [0, 0.2, 4]]},
        {**step, "fallback": True, "top": [[0, 0.0, 1]]},
    ]
    assert places_of(lines, 7) == Places((1, 1), (3, 3), (1, 2), 1, 7)


def test_commands_find_the_one_that_looks_at_places_alone(tmp_path: Path) -> None:
    copied(tmp_path)
    first = beeline(tmp_path, "domain=countdown", "model=first_option", "study=position")
    assert first.returncode == 0, first.stderr
    said = " ".join(first.stdout.split())
    assert "first_option prefers the first place: 1.00" in said
    assert f"over the {TRIALS} of {TRIALS} trials that can be told" in said
    other = beeline(tmp_path, "domain=countdown", "model=sparrow", "study=position")
    assert "sparrow shows no liking for a place" in " ".join(other.stdout.split())


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    none = beeline(tmp_path, "domain=countdown", "model=first_option", "study=position")
    assert none.returncode == 2
    assert "there are no records of first_option on countdown" in none.stderr
    sorted_ = beeline(tmp_path, "domain=countdown", "study=position", "study.condition=newest-first")
    assert "places say nothing where the order is not drawn" in sorted_.stderr


# Other tie rules.


def kept(tmp_path: Path, answer: Any) -> tuple[Path, float]:
    """The archive of a search of trial 4 and its score."""
    made = plan("countdown", "1.0.0")
    space = open_space(made, 4, run_offline(TrialTask(made, 4))["instance"])
    steps = begin_model_arm(made, space, 4, FirstOption("first_option"), UsabilityGuard(), False)
    archive = Archive()
    try:
        question = next(steps)
        while True:
            given = answer(question)
            archive.add(question, given)
            question = steps.send(given)
    except StopIteration as stop:
        path = tmp_path / "4.1.jsonl.gz"
        write_lines(path, {"schema": 1}, archive.lines, "archive")
        return path, stop.value.as_dict(space.shortest_path, made.limits)["score"]


def again(path: Path, rule: str) -> float | None:
    made = plan("countdown", "1.0.0")
    space = open_space(made, 4, run_offline(TrialTask(made, 4))["instance"])
    return rerun(made, space, 4, FirstOption("first_option"), path, rule)


def test_another_rule_is_told_where_its_questions_were_asked(tmp_path: Path) -> None:
    path, score = kept(tmp_path, lambda question: Answer({min(question.options): 1.0}))
    for rule in ("seeded_draw", "shown_first", "shown_last"):
        assert again(path, rule) == score  # no tie: every question comes up again


def test_another_rule_is_not_guessed(tmp_path: Path) -> None:
    path, _ = kept(tmp_path, lambda question: Answer([0.5] * len(question.options)))
    assert again(path, "frontier_order") is not None
    assert again(path, "shown_last") is None


def test_a_rule_takes_what_it_says() -> None:
    question = Question("t", "g", "c", "i", ("a", "b", "c", "d"))
    for rule, taken in (("shown_first", 1), ("shown_last", 3)):
        broken = _broken(Answer({"b": 0.4, "d": 0.4, "a": 0.2}), question, rule)
        assert isinstance(broken.probabilities, list)
        assert broken.probabilities.index(max(broken.probabilities)) == taken
    refused = Answer(refused=True)
    assert _broken(refused, question, "shown_first") is refused


def test_a_host_that_prefers_early_places_is_found(tmp_path: Path) -> None:
    run = ("domain=countdown", "model=local", "model.id=fake", "trials=8")
    with FakeServer("order_dependent") as server:
        host = f"model.base_url={server.base_url}"
        assert beeline(tmp_path, *run, host).returncode == 0
        found = beeline(tmp_path, *run, host, "study=position")
    assert found.returncode == 0, found.stderr
    said = " ".join(found.stdout.split())
    assert "local prefers" in said
    (place,) = re.findall(r"mean place, 0 first to 1 last 0\.\d+ \(0\.\d+ to (0\.\d+)\)", said)
    assert float(place) < 0.5
