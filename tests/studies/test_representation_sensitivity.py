"""study=representation_sensitivity: each writing is asked as it is, over the same searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from beeline.condition import plan_of
from beeline.errors import SettingError
from beeline.question import Question
from tests.commands import beeline
from tests.studies.conditions import (
    DOMAINS,
    FIRST,
    SHORT,
    chooser,
    conditions_of,
    first_question,
    pairs_with_a_plain_score,
    searched,
    spec_of,
)

STUDY = "representation_sensitivity"
NAMES = {
    "tiles": ["benchmark", "cells", "sentences", "positions"],
    "blocksworld": ["benchmark", "sentences", "towers", "brackets"],
    "countdown": ["benchmark", "list", "sentence", "counted"],
    "word_ladder": ["benchmark", "quoted", "spaced", "spelled"],
    "wikispeedia": ["benchmark", "quoted", "labelled", "underscored"],
    "rush_hour": ["benchmark", "cells", "vehicles", "squares"],
    "keys_doors": ["benchmark", "sentences", "fields"],
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_conditions_are_the_writings_of_the_domain(domain: str) -> None:
    spec, plain = spec_of(domain, STUDY), spec_of(domain, "score")
    conditions = conditions_of(spec)
    assert list(conditions) == NAMES[domain]
    assert len(conditions) >= 3
    assert spec.trials == 50
    (score,) = plain.study.conditions_for(plain)
    assert plan_of(spec, conditions["benchmark"]) == plan_of(plain, score)


def test_a_version_with_a_writing_of_its_own_has_that_as_benchmark() -> None:
    spec, plain = (spec_of("countdown", study, version="2.0.0") for study in (STUDY, "score"))
    conditions = conditions_of(spec)
    assert list(conditions) == ["benchmark", "plain", "sentence", "counted"]
    (score,) = plain.study.conditions_for(plain)
    assert plan_of(spec, conditions["benchmark"]) == plan_of(plain, score)
    options = {name: first_question(spec, it).options for name, it in conditions.items()}
    assert all(option.startswith("[") for option in options["benchmark"])
    assert not any(option.startswith("[") for option in options["plain"])


@pytest.mark.parametrize("domain", DOMAINS)
def test_texts_goal_and_rules_are_those_of_the_writing_and_nothing_else_changes(domain: str) -> None:
    spec = spec_of(domain, STUDY, limits=SHORT)
    conditions = conditions_of(spec)
    asked: dict[str, Question] = {name: first_question(spec, it) for name, it in conditions.items()}
    ours = {r.name: r for r in spec.domain.representations}
    problem = spec.domain.problem(1)
    for name, question in asked.items():
        writing = ours[next(iter(ours)) if name == "benchmark" else name]
        assert question.goal == writing.objective(problem)
        assert question.context == writing.context(problem)
        assert question.task == writing.task or question.task == spec.domain.task
        assert question.instructions == asked["benchmark"].instructions
        texts = [writing.render(problem, state) for state in problem.successors(problem.start)]
        assert set(question.options) == set(texts)
    assert len({question.options for question in asked.values()}) == len(asked)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_model_blind_to_words_searches_alike_in_every_writing(domain: str) -> None:
    spec = spec_of(domain, STUDY, limits=SHORT)
    found = [searched(spec, condition, FIRST).search for condition in conditions_of(spec).values()]
    assert found[0].outcome.expansions > 10
    assert all(search == found[0] for search in found)


def test_a_model_that_sees_words_does_not() -> None:
    spec, model = spec_of("blocksworld", STUDY, limits=SHORT), chooser("by_option")
    traces = [searched(spec, condition, model).trace for condition in conditions_of(spec).values()]
    chosen = {"".join(trace.lines) for trace in traces if trace is not None}
    assert len(chosen) == 4


def test_conditions_pair_and_the_benchmarks_is_a_score() -> None:
    scores = pairs_with_a_plain_score(STUDY, NAMES["countdown"])
    assert len(set(map(tuple, scores.values()))) == 4  # this model sees words


def test_some_writings_only() -> None:
    names = conditions_of(spec_of("tiles", STUDY, {"representations": ["positions", "rows"]}))
    assert list(names) == ["benchmark", "positions"]  # rows is the benchmark's


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"representations": ["tower"]},
            "domain blocksworld has no representation 'tower': did you mean towers?",
        ),
        ({"representations": ["towers", "towers"]}, "this study would run 'towers' twice"),
        (
            {"representations": "towers"},
            "study.representations='towers' must be a list such as [a,b], or null",
        ),
        ({"representation": []}, "study.representation is not a setting of study representation_sensitivity"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as error:
        conditions_of(spec_of("blocksworld", STUDY, settings))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("representations", [["rows"], []])
def test_one_writing_is_no_comparison(representations: list[str]) -> None:
    with pytest.raises(SettingError, match=r"condition alone: name at least one other to compare$"):
        conditions_of(spec_of("tiles", STUDY, {"representations": representations}))


def test_commands_refuse_before_anything_runs(tmp_path: Path) -> None:
    wrong = beeline(tmp_path, "domain=tiles", f"study={STUDY}", "study.representations=[row]")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("beeline: domain tiles has no representation 'row': did you mean rows?")
    assert not list(tmp_path.rglob("*.jsonl"))
