"""study=compare: pairs from records alone, and what cannot be compared is said."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from beeline.errors import SettingError
from beeline.records import Record, read_records
from studies.compare import _check_same_trials, _variant, conclude
from tests.commands import beeline
from tests.studies.runs import TRIALS, copied, two_models
from tracking.analysis import load

REPETITIONS = 100


@cache
def any_record() -> Record:
    path = two_models() / "results/1.0.0/sparrow/score/countdown.benchmark.jsonl"
    return read_records(path).records[0]


def made(ratio: float, seed: int, trials: int = 25) -> list[Record]:
    """Scores of about 0.2 times ``ratio``, with luck of their own."""
    draw, hard = random.Random(seed), random.Random(99)
    base = any_record()
    found = []
    for trial in range(1, trials + 1):
        score = 0.2 * ratio * math.exp(hard.gauss(0, 0.5) + draw.gauss(0, 0.3))
        arm = {**base.arms["model"], "score": min(1.0, score), "solved": True, "expansions": 10}
        found.append(replace(base, trial=trial, arms={"model": arm}, shortest_path=4, states_reachable=500))
    return found


def test_a_planted_ratio_comes_back_and_none_is_found_where_there_is_none() -> None:
    held = covered = wrong = 0
    arms = {"a": "model", "b": "model"}
    for seed in range(REPETITIONS):
        better = {"a": made(1.4, seed), "b": made(1.0, 1_000 + seed)}
        (pair,) = conclude(better, arms, ["countdown"], "1.0.0").data["pairs"]
        held += pair["ratio"]["low"] <= 1.4 <= pair["ratio"]["high"]
        same = {"a": made(1.0, seed), "b": made(1.0, 1_000 + seed)}
        (pair,) = conclude(same, arms, ["countdown"], "1.0.0").data["pairs"]
        covered += pair["ratio"]["low"] <= 1.0 <= pair["ratio"]["high"]
        wrong += pair["p_value"] < 0.05
    assert min(held, covered) >= 93
    assert wrong <= 10  # 5 expected; 11 or more come in 1 of 85 cases


def test_of_many_pairs_without_a_difference_few_repetitions_tell_one() -> None:
    """Three pairs each: Holm's correction keeps the share of repetitions with any of them at 5%."""
    told = 0
    for seed in range(REPETITIONS):
        found = {name: made(1.0, 1_000 * k + seed) for k, name in enumerate("abc")}
        analysis = conclude(found, dict.fromkeys("abc", "model"), ["countdown"], "1.0.0")
        told += "can be told apart" not in analysis.sentence
    assert told <= 10


def test_three_are_three_pairs_corrected() -> None:
    found = {
        name: made(ratio, seed) for seed, (name, ratio) in enumerate({"a": 3.0, "b": 1.0, "c": 1.0}.items())
    }
    analysis = conclude(found, dict.fromkeys(found, "model"), ["countdown"], "1.0.0")
    pairs = {(p["first"], p["second"]): p for p in analysis.data["pairs"]}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert all(p["holm_p_value"] >= p["p_value"] for p in pairs.values())
    assert pairs["a", "b"]["holm_p_value"] < 0.05 < pairs["b", "c"]["holm_p_value"]
    assert "2 of 3 pairs differ" in analysis.sentence
    assert len(analysis.figures[0].series[0].x) == 3


def test_unfinished_searches_are_bounded() -> None:
    ours, theirs = made(1.0, 1), made(1.0, 2)
    arm = {**ours[0].arms["model"], "score": 5 / 2500, "solved": False, "expansions": 2500}
    ours[0] = replace(ours[0], arms={"model": arm}, states_reachable=60_000)
    analysis = conclude({"a": ours, "b": theirs}, {"a": "model", "b": "model"}, ["countdown"], "1.0.0")
    assert any("1 trials were stopped at the limit" in note for note in analysis.notes)


def test_other_problems_do_not_pair() -> None:
    ours, theirs = made(1.0, 1), made(1.0, 2)
    theirs[3] = replace(theirs[3], states_reachable=501)
    with pytest.raises(SettingError, match=r"trial 4 of countdown is not the same problem for a and b"):
        _check_same_trials({"a": ours, "b": theirs})


def test_names_of_files_tell_what_was_compared() -> None:
    assert _variant(["a", "b_1"], ["countdown"], "score") == "a-vs-b_1"
    assert _variant(["a 2.0.0", "a 1.0.0"], ["countdown"], "score") == "a-2.0.0-vs-a-1.0.0"
    assert _variant(["a", "b"], ["countdown", "tiles"], "baseline") == "countdown-tiles.baseline.a-vs-b"
    many = [f"model_{number}" for number in range(40)]
    one, other = _variant(many, ["tiles"], "score"), _variant(many[::-1], ["tiles"], "score")
    assert len(one) == 120
    assert one.startswith("model_0-vs-model_1-vs-")
    assert one != _variant([*many, "last"], ["tiles"], "score")
    assert one != other


def test_commands(tmp_path: Path) -> None:
    copied(tmp_path)
    run = ("domain=countdown", "study=compare")
    every = beeline(tmp_path, *run)
    assert every.returncode == 0, every.stderr
    assert "first_option" in every.stdout
    assert f"over the {TRIALS} trials that all have" in " ".join(every.stdout.split())
    arm = beeline(tmp_path, *run, "study.models=[sparrow,heuristic]")
    assert "sparrow / heuristic" in arm.stdout
    # A second comparison leaves the files of the first.
    folder = tmp_path / "results/1.0.0/none/compare"
    names = ("countdown.first_option-vs-sparrow", "countdown.sparrow-vs-heuristic")
    kinds = (".analysis.json", ".pairs.svg", ".pairs.png")
    assert {path.name for path in folder.iterdir()} == {name + kind for name in names for kind in kinds}
    found, notes = load(tmp_path / "results", domain="countdown")
    assert ([analysis.stem for analysis in found], notes) == (list(names), [])
    typo = beeline(tmp_path, *run, "study.models=[sparow,heuristic]")
    assert typo.returncode == 2
    assert "did you mean sparrow" in typo.stderr
    alone = beeline(tmp_path, "domain=tiles", "study=compare")
    assert "study=compare needs two with records on tiles" in alone.stderr


def test_arms_of_a_baseline_are_compared(tmp_path: Path) -> None:
    assert beeline(tmp_path, "domain=countdown", "study=baseline", "trials=6").returncode == 0
    run = ("domain=countdown", "study=compare", "study.of=baseline", "study.models=[heuristic,random]")
    arms = beeline(tmp_path, *run)
    assert arms.returncode == 0, arms.stderr
    assert "heuristic / random" in arms.stdout
