"""study=repeatability: repeats send the same first question; noise that is planted is told apart."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beeline.analysis import Analysis
from beeline.condition import plan_of
from beeline.errors import SettingError
from beeline.model import Model
from beeline.question import Answer, Question
from beeline.records import Cell, Record
from studies.repeatability import Repeatability
from tests.beeline.test_scoring import record
from tests.commands import beeline
from tests.studies.conditions import (
    DOMAINS,
    all_four,
    chooser,
    conditions_of,
    pairs_with_a_plain_score,
    records_of,
    searched,
    spec_of,
)

STUDY = "repeatability"


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_benchmarks_condition_is_planned_as_a_plain_score(domain: str) -> None:
    spec, plain = spec_of(domain, STUDY), spec_of(domain, "score")
    conditions = conditions_of(spec)
    assert {name: it.repeats for name, it in conditions.items()} == {"benchmark": 3, "random-2": 3}
    assert spec.trials == 50
    (score,) = plain.study.conditions_for(plain)
    assert plan_of(spec, conditions["benchmark"]) == plan_of(plain, score)
    assert plan_of(spec, conditions["random-2"]).order == "random-2"


def test_settings() -> None:
    conditions = conditions_of(spec_of("tiles", STUDY, {"repeats": 2, "orders": 4}))
    assert {name: it.repeats for name, it in conditions.items()} == dict.fromkeys(
        ("benchmark", "random-2", "random-3", "random-4"), 2
    )
    assert list(conditions_of(spec_of("tiles", STUDY, {"orders": 1}))) == ["benchmark"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"repeats": 1}, "study.repeats=1 must be 2 or more and at most 20"),
        ({"repeats": 21}, "study.repeats=21 must be 2 or more and at most 20"),
        ({"repeats": 2.5}, "study.repeats=2.5 must be a whole number"),
        ({"repeats": None}, "study.repeats=None must be a whole number"),
        ({"orders": 0}, "study.orders=0 must be 1 or more and at most 10"),
        ({"orders": ["found"]}, "study.orders=['found'] must be a whole number"),
        ({"repeat": 3}, "study.repeat is not a setting of study repeatability: did you mean repeats?"),
    ],
)
def test_wrong_settings_are_refused(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as error:
        spec_of("tiles", STUDY, settings)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_command_refuses(tmp_path: Path) -> None:
    wrong = beeline(tmp_path, "domain=tiles", f"study={STUDY}", "study.repeats=1")
    assert wrong.returncode == 2
    assert wrong.stderr == "beeline: study.repeats=1 must be 2 or more and at most 20\n"


def test_repeats_of_a_steady_model_are_the_same_records() -> None:
    scores = pairs_with_a_plain_score(STUDY, ["benchmark", "random-2"], repeats=3)
    for found in scores.values():
        by_trial = [found[i : i + 3] for i in range(0, len(found), 3)]
        assert all(len(set(repeats)) == 1 for repeats in by_trial)
    path = all_four("1", 1) / "results/1.0.0/python/repeatability/countdown.analysis.json"
    analysis = json.loads(path.read_text())
    assert "no decision changed between repeats and no score changed" in analysis["sentence"]
    assert "0% is chance" in analysis["sentence"]
    changed = analysis["data"]["changed"]
    assert changed["decisions_between_repeats"]["value"] == 0
    assert changed["decisions_between_orders"]["value"] > 0.3  # this model sees places


class Unsteady(Model):
    """Takes what it likes best, but now and then any other."""

    def __init__(self, noise: float, seed: int) -> None:
        self.name = self.model_id = "unsteady"
        self._likes, self._noise, self._draw = chooser("by_option"), noise, random.Random(seed)

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        return {}

    def answer_now(self, question: Question) -> Answer:
        weights = list(self._likes.answer_now(question).probabilities)
        if self._draw.random() < self._noise:
            best = weights.index(max(weights))
            weights[self._draw.choice([i for i in range(len(weights)) if i != best])] = 2.0**40
        return Answer(weights)


def run(model: Model, tmp_path: Path, trials: int = 12) -> Analysis:
    """The study on countdown, its traces and records made in this process."""
    spec = spec_of("countdown", STUDY)
    found: dict[str, list[Record]] = {}
    for name, condition in conditions_of(spec).items():
        cell = Cell(spec.version, spec.model_name, STUDY, "countdown", name)
        found[name] = []
        for trial in range(1, trials + 1):
            for repeat in range(1, condition.repeats + 1):
                done = searched(spec, condition, model, trial)
                assert done.trace is not None
                done.trace.write(cell.trace_path(tmp_path, trial, repeat), {"schema": 1})
                arm = done.as_dict(4, spec.definition.limits)
                found[name].append(
                    record(
                        trial, {"model": arm}, domain="countdown", condition=name, study=STUDY, repeat=repeat
                    )
                )
    analysis = Repeatability().analyse(spec, found, tmp_path)
    assert analysis is not None
    return analysis


def test_a_planted_noise_is_recovered_from_traces(tmp_path: Path) -> None:
    # Two repeats part where one of them goes astray, or both and not to the same option (2 or more).
    least, most = 2 * 0.1 * 0.9, 1 - 0.9**2
    found = run(Unsteady(0.1, seed=5), tmp_path).data["changed"]
    for what in ("decisions_between_repeats", "decisions_between_orders"):
        assert found[what]["low"] <= most
        assert found[what]["high"] >= least
        assert 0.1 < found[what]["value"] < 0.3
    assert found["first_decisions_between_repeats"]["low"] <= most
    assert found["scores_between_repeats"]["value"] > 0.5


def test_a_steady_model_shows_no_noise(tmp_path: Path) -> None:
    analysis = run(chooser("by_option"), tmp_path, trials=6)
    for share in analysis.data["changed"].values():
        assert (share["value"], share["low"]) == (0, 0)
    assert analysis.data["shares"] == {"trial": 1.0, "order": 0.0, "repeat": 0.0}
    assert analysis.sentence == (
        "Over 6 trials run 3 times, no decision changed between repeats and no score changed; of the spread "
        "of log scores 100% is the trial, 0% is the order and 0% is chance."
    )


def conclude(values: np.ndarray, tmp_path: Path) -> str:
    names = ["benchmark", "random-2"][: values.shape[1]]
    records = {name: records_of(values[:, n], name, STUDY) for n, name in enumerate(names)}
    analysis = Repeatability().analyse(spec_of("tiles", STUDY), records, tmp_path)
    assert analysis is not None
    return analysis.sentence


def test_sentences_without_traces(tmp_path: Path) -> None:
    rng = np.random.RandomState(1)
    noisy = rng.normal(-2, 0.1, (20, 1, 1)) + rng.normal(0, 0.5, (20, 1, 2))
    sentence = conclude(noisy, tmp_path)
    assert sentence.startswith("Over 20 trials run 2 times, scores lay between 0.1")
    assert sentence.endswith("% is chance.")
    assert "the order" not in sentence
    assert conclude(np.full((4, 2, 2), -1.0), tmp_path) == (
        "Over 4 trials run 2 times, no score changed; all trials scored alike."
    )
    assert conclude(np.array([[[-1.0, -2.0]]]), tmp_path) == (
        "Over 1 trial run 2 times, scores lay between 0.14 and 0.37."
    )


def test_scores_that_print_alike_are_said_once(tmp_path: Path) -> None:
    values = np.full((4, 1, 2), math.log(0.05))
    values[0, 0] += (0.0001, -0.0001)
    assert conclude(values, tmp_path).startswith(
        "Over 4 trials run 2 times, scores came to 0.05 each time; of"
    )


def test_nothing_is_said_without_repeats(tmp_path: Path) -> None:
    spec = spec_of("tiles", STUDY)
    for records in ({}, {"benchmark": [], "random-2": []}):
        assert Repeatability().analyse(spec, records, tmp_path) is None
