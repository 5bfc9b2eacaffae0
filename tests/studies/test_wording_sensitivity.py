"""study=wording_sensitivity: words alone change, a planted ratio comes back, a file of one's own works."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beeline.condition import plan_of
from beeline.errors import SettingError
from beeline.wording import WORDINGS, read_wording
from studies.wording_sensitivity import WordingSensitivity
from tests.commands import beeline
from tests.studies.conditions import (
    DOMAINS,
    FIRST,
    SHORT,
    chooser,
    conditions_of,
    first_question,
    pairs_with_a_plain_score,
    records_of,
    searched,
    spec_of,
)

STUDY = "wording_sensitivity"
NAMES = ["benchmark", "terse", "question", "expert", "step-by-step"]
MINE = """
name: theirs
instructions: Which is nearest to the goal?
task: {countdown: "Count.", default: "So: {task}"}
"""


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_benchmarks_condition_is_planned_as_a_plain_score(domain: str, version: str) -> None:
    spec, plain = (spec_of(domain, study, version=version) for study in (STUDY, "score"))
    conditions = conditions_of(spec)
    assert list(conditions) == NAMES
    assert spec.trials == 50
    (score,) = plain.study.conditions_for(plain)
    assert plan_of(spec, conditions["benchmark"]) == plan_of(plain, score)


@pytest.mark.parametrize("domain", DOMAINS)
def test_words_alone_change(domain: str) -> None:
    spec = spec_of(domain, STUDY, limits=SHORT)
    asked = {name: first_question(spec, it) for name, it in conditions_of(spec).items()}
    plain = asked["benchmark"]
    assert plain.instructions == WORDINGS["plain"].instructions
    for question in asked.values():
        assert question.options == plain.options
        for ours, theirs in (
            (question.task, plain.task),
            (question.goal, plain.goal),
            (question.context, plain.context),
        ):
            assert theirs in ours
    assert len({question.instructions for question in asked.values()}) == len(NAMES)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_model_blind_to_words_searches_alike_in_every_wording(domain: str) -> None:
    spec, blind = spec_of(domain, STUDY, limits=SHORT), chooser("by_option")
    for model in (blind, FIRST):
        found = [searched(spec, condition, model).search for condition in conditions_of(spec).values()]
        assert found[0].outcome.expansions > 10
        assert all(search == found[0] for search in found)


def test_conditions_pair_and_the_benchmarks_is_a_score() -> None:
    scores = pairs_with_a_plain_score(STUDY, NAMES)
    assert len(set(map(tuple, scores.values()))) == len(NAMES)  # this model sees words


def test_a_planted_ratio_comes_back(tmp_path: Path) -> None:
    spec = spec_of("tiles", STUDY)
    truth = {"terse": 0.7, "question": 1.0}
    held, found, wrong = dict.fromkeys(truth, 0), 0, 0
    for seed in range(100):
        rng = np.random.RandomState(seed)
        hard = rng.normal(-2.5, 0.7, 50)
        logs = {"benchmark": hard + rng.normal(0, 0.3, 50)}
        logs |= {name: hard + rng.normal(math.log(ratio), 0.3, 50) for name, ratio in truth.items()}
        records = {name: records_of(values, name, STUDY) for name, values in logs.items()}
        analysis = WordingSensitivity().analyse(spec, records, tmp_path)
        assert analysis is not None
        for name, ratio in truth.items():
            against = analysis.data["conditions"][name]["against_benchmark"]["ratio"]
            held[name] += against["low"] <= ratio <= against["high"]
        told = analysis.sentence.partition("beyond chance: ")[2]
        found += "terse (" in told
        wrong += "question (" in told
    assert min(held.values()) >= 93
    assert found >= 93
    assert wrong <= 11  # 5 expected; 12 or more come in 1 of 200 cases


def put(folder: Path, text: str = MINE, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = put(tmp_path)
    for domain, task in (("countdown", "Count."), ("tiles", "So: ")):
        spec = spec_of(domain, STUDY, {"wordings": ["terse"], "file": str(path)})
        conditions = conditions_of(spec)
        assert list(conditions) == ["benchmark", "terse", "theirs"]
        question = first_question(spec, conditions["theirs"])
        assert question.instructions == "Which is nearest to the goal?"
        assert question.task.startswith(task)
    alone = spec_of("tiles", STUDY, {"wordings": [], "file": str(path)})
    assert list(conditions_of(alone)) == ["benchmark", "theirs"]
    # What is in the file is in the spec that lies beside the records, word for word.
    assert alone.as_dict()["conditions"][1]["wording"]["instructions"] == "Which is nearest to the goal?"
    assert alone.as_dict()["conditions"][1]["wording"]["domains"] == {"countdown": {"task": "Count."}}


def test_a_file_through_the_command_line(tmp_path: Path) -> None:
    put(tmp_path)
    ran = beeline(
        tmp_path,
        "domain=countdown",
        "model=python",
        "model.function=tests.studies.choosers:by_words",
        "plugins=[tests]",
        "trials=2",
        f"study={STUDY}",
        "study.wordings=[]",
        "study.file=mine.yaml",
    )
    assert ran.returncode == 0, ran.stderr
    folder = tmp_path / "results/1.0.0/python" / STUDY
    assert len((folder / "countdown.theirs.jsonl").read_text().splitlines()) == 2
    spec = json.loads((folder / "countdown.theirs.spec.json").read_text())
    assert spec["conditions"][1]["wording"]["name"] == "theirs"
    assert "over 2 trials" in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"wordings": ["tersely"]}, "study.wordings: there is no wording 'tersely': did you mean terse?"),
        ({"wordings": ["terse", "terse"]}, "this study would run 'terse' twice"),
        ({"wordings": ["plain"]}, "the benchmark's own condition alone: name at least one other"),
        ({"wordings": "terse"}, "study.wordings='terse' must be a list such as [a,b], or null"),
        ({"file": "nowhere.yaml"}, "cannot read the wording nowhere.yaml: No such file or directory"),
        ({"file": 7}, "study.file=7 must be a text"),
        ({"files": "x"}, "study.files is not a setting of study wording_sensitivity: did you mean file?"),
    ],
)
def test_wrong_settings_are_refused(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as error:
        conditions_of(spec_of("tiles", STUDY, settings))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_for_a_domain_that_there_is_not(tmp_path: Path) -> None:
    path = put(tmp_path, "instructions: {default: 'Which?', tile: 'Which tile?'}")
    with pytest.raises(
        SettingError, match=r"^study.file words a domain 'tile': did you mean tiles\?"
    ) as error:
        conditions_of(spec_of("countdown", STUDY, {"file": str(path)}))
    assert "\n" not in str(error.value)


def test_commands_refuse_before_anything_runs(tmp_path: Path) -> None:
    put(tmp_path, "instruction: Which?")
    wrong = beeline(tmp_path, "domain=tiles", f"study={STUDY}", "study.file=mine.yaml")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith(
        "beeline: mine.yaml: there is no text 'instruction' in a wording: did you mean"
    )
    assert not list(tmp_path.rglob("*.jsonl"))


def test_the_example_of_the_module_is_right(tmp_path: Path) -> None:
    import beeline.wording

    example = (beeline.wording.__doc__ or "").partition("per domain:\n\n")[2]
    wording = read_wording(put(tmp_path, example))
    assert wording.name == "mine"
    assert wording.texts("tiles", "t", "g", "c")[:2] == ("Slide the tiles.", "Goal: g")
    assert wording.texts("countdown", "t", "g", "c")[:2] == ("t", "Goal: g")
