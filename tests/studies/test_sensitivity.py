"""What the studies of conditions share: the same analysis on any machine, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from beeline.condition import plan_of
from beeline.errors import SettingError
from beeline.study import Condition
from studies.order_sensitivity import OrderSensitivity
from studies.sensitivity import benchmark_first
from tests.studies.conditions import DOMAINS, STUDIES, all_four, conditions_of, records_of, spec_of
from tracking.analysis import text


@pytest.mark.parametrize("study", STUDIES)
def test_hash_seeds_and_workers_change_nothing(study: str) -> None:
    one, two = (
        folder / f"results/1.0.0/python/{study}/countdown.analysis.json"
        for folder in (all_four("1", 1), all_four("2", 2))
    )
    assert one.read_bytes() == two.read_bytes()
    analysis = json.loads(one.read_text())
    assert analysis["study"] == study
    said = (all_four("1", 1) / "said.txt").read_text()
    # Lines end at blanks and at hyphens.
    assert "".join(analysis["sentence"].split()) in "".join(said.split())


@pytest.mark.parametrize("study", STUDIES)
def test_a_world_has_no_options(study: str) -> None:
    spec = replace(spec_of("tiles", study), domain_name="transit", domain=_World())  # type: ignore[arg-type]
    said = f"^study={study} changes .*; domain transit belongs to worlds: choose another domain$"
    with pytest.raises(SettingError, match=said):
        spec.study.conditions_for(spec)


class _World:
    suite = "worlds"


CHANGES = {
    "order_sensitivity": "order",
    "representation_sensitivity": "representation",
    "wording_sensitivity": "wording",
    "repeatability": "order",
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("study", STUDIES)
def test_conditions_differ_from_the_benchmark_in_one_thing(study: str, domain: str) -> None:
    """So each has the same trials, drawn, measured and searched offline alike."""
    spec, what = spec_of(domain, study), CHANGES[study]
    plans = {name: plan_of(spec, condition) for name, condition in conditions_of(spec).items()}
    benchmark = plans.pop("benchmark")
    assert plans
    for name, made in plans.items():
        changed = getattr(made, what)
        assert changed != getattr(benchmark, what)
        assert name == (changed.name if what == "wording" else changed)
        assert replace(made, **{what: getattr(benchmark, what)}) == benchmark


def test_a_condition_comes_once() -> None:
    names = [c.name for c in benchmark_first(Condition(name=name) for name in ("a", "b"))]
    assert names == ["benchmark", "a", "b"]
    with pytest.raises(
        SettingError, match="this study would run 'benchmark' twice: name each condition once"
    ):
        benchmark_first([Condition()])


def sentence(logs: dict[str, np.ndarray], tmp_path: Path) -> str:
    records = {name: records_of(values, name, "order_sensitivity") for name, values in logs.items()}
    analysis = OrderSensitivity().analyse(spec_of("tiles", "order_sensitivity"), records, tmp_path)
    assert analysis is not None
    return analysis.sentence


def test_sentences_say_what_was_found(tmp_path: Path) -> None:
    trial = np.linspace(-3, -1, 20)
    wobble = np.where(np.arange(20) % 2, 0.1, -0.099)
    assert sentence({"benchmark": trial, "found": trial}, tmp_path) == (
        "Order made no difference: 2 orders gave each of 20 trials the same score, 0.14 (0.10 to 0.18) "
        "overall."
    )
    assert sentence({"benchmark": trial, "found": trial + wobble, "random-2": trial + 0.7}, tmp_path) == (
        "Order moved the score over 20 trials by a factor of 2.01, from 0.14 (benchmark) to 0.27 (random-2); "
        "1 of 2 orders differs from the benchmark's beyond chance: random-2 (2.01 times, 2.01 to 2.01)."
    )
    assert sentence({"benchmark": trial, "found": trial + wobble}, tmp_path) == (
        "Order moved the score over 20 trials by a factor of 1.00, from 0.14 (benchmark) to 0.14 (found); "
        "no order differs from the benchmark's beyond chance (smallest Holm p = 0.83)."
    )
    assert sentence({"benchmark": trial[:1], "found": trial[:1] + 0.5}, tmp_path) == (
        "Order moved the score over 1 trial by a factor of 1.65, from 0.05 (benchmark) to 0.082 (found); so "
        "few trials cannot tell which of them differ from the benchmark's."
    )


def test_a_note_says_what_the_benchmarks_condition_is(tmp_path: Path) -> None:
    expected = {
        ("order_sensitivity", "1.0.0"): "benchmark: a random order, drawn anew for each question.",
        ("wording_sensitivity", "1.0.0"): "benchmark: the wording 'plain' of version 1.0.0.",
        ("representation_sensitivity", "1.0.0"): "benchmark: the representation 'plain' of version 1.0.0.",
        ("representation_sensitivity", "2.0.0"): "benchmark: the representation 'list' of version 2.0.0.",
    }
    for (study, version), note in expected.items():
        spec = spec_of("countdown", study, version=version)
        records = {name: records_of(np.zeros(2), name, study) for name in conditions_of(spec)}
        analysis = spec.study.analyse(spec, records, tmp_path)
        assert analysis is not None
        assert analysis.notes[0] == note


def test_nothing_is_said_of_one_condition(tmp_path: Path) -> None:
    spec = spec_of("tiles", "order_sensitivity")
    one = records_of(np.zeros(3), "benchmark", "order_sensitivity")
    other = records_of(np.zeros(3), "found", "order_sensitivity")
    for records in ({}, {"benchmark": one}, {"benchmark": one, "found": []}, {"found": other}):
        assert OrderSensitivity().analyse(spec, records, tmp_path) is None


def test_trials_that_a_condition_lacks_are_left_out_and_counted(tmp_path: Path) -> None:
    spec = spec_of("tiles", "order_sensitivity")
    records = {
        "benchmark": records_of(np.array([-1.0, -2.0, -3.0]), "benchmark", "order_sensitivity"),
        "found": records_of(np.array([-1.5, -2.5]), "found", "order_sensitivity"),
    }
    analysis = OrderSensitivity().analyse(spec, records, tmp_path)
    assert analysis is not None
    assert (analysis.data["trials"], analysis.data["left_out"]) == (2, 1)
    assert "1 trial that some orders lack is left out." in analysis.notes
    assert analysis.data["conditions"]["benchmark"]["score"]["value"] == pytest.approx(np.exp(-1.5))


def test_unsolved_searches_are_noted(tmp_path: Path) -> None:
    spec = spec_of("tiles", "order_sensitivity")
    records = {
        name: records_of(np.full(3, -1.0), name, "order_sensitivity") for name in ("benchmark", "found")
    }
    solved = OrderSensitivity().analyse(spec, records, tmp_path)
    arm = {**records["found"][0].arms["model"], "solved": False}
    records["found"][0] = replace(records["found"][0], arms={"model": arm})
    stopped = OrderSensitivity().analyse(spec, records, tmp_path)
    assert solved is not None
    assert stopped is not None
    assert not any("Unsolved" in note for note in solved.notes)
    assert any(note.startswith("Unsolved searches count as if solved") for note in stopped.notes)
    assert stopped.data["conditions"]["found"]["unsolved"] == 1


def test_tables_fit_a_terminal_whatever_the_ratios(tmp_path: Path) -> None:
    trial = np.linspace(-8, -5, 20)
    names = {"benchmark": 0.0, "newest-first": 4.9, "worst-first": -0.1}
    records = {n: records_of(trial + shift, n, "order_sensitivity") for n, shift in names.items()}
    analysis = OrderSensitivity().analyse(spec_of("tiles", "order_sensitivity"), records, tmp_path)
    assert analysis is not None
    shown = text(analysis, 80)
    rows = [line.split()[:5] for line in shown.splitlines()]
    assert ["newest-first", "134", "134", "to", "134"] in rows
    assert "newest-first (134 times, 134 to 134)" in " ".join(shown.split())
