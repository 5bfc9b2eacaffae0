"""study=order_sensitivity: orders are what they say, trials pair, a liking for early places is found."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beeline.condition import plan_of
from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.records import read_records
from beeline.spec import Spec
from studies.order_sensitivity import OrderSensitivity
from tests.beeline.coverage import assert_nominal
from tests.commands import beeline
from tests.studies.conditions import (
    DOMAINS,
    FIRST,
    SHORT,
    chooser,
    conditions_of,
    opened,
    pairs_with_a_plain_score,
    records_of,
    searched,
    spec_of,
)

NAMES = ["benchmark", "random-2", "random-3", "found", "newest-first", "best-first", "worst-first"]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_the_benchmarks_condition_is_planned_as_a_plain_score(domain: str, version: str) -> None:
    spec, plain = (spec_of(domain, s, version=version) for s in ("order_sensitivity", "score"))
    conditions = conditions_of(spec)
    assert list(conditions) == NAMES
    assert spec.trials == 50
    (score,) = plain.study.conditions_for(plain)
    assert plan_of(spec, conditions["benchmark"]) == plan_of(plain, score)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_model_blind_to_order_searches_alike_in_every_order(domain: str) -> None:
    spec, model = spec_of(domain, "order_sensitivity", limits=SHORT), chooser("by_option")
    found = [searched(spec, condition, model).search for condition in conditions_of(spec).values()]
    assert found[0].outcome.expansions > 10
    assert all(search == found[0] for search in found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_first_option_goes_as_its_order_says(domain: str) -> None:
    spec = spec_of(domain, "order_sensitivity", limits=SHORT)
    _, space = opened(domain, 1)
    for name, condition in conditions_of(spec).items():
        lines = [json.loads(line) for line in searched(spec, condition, FIRST).trace.lines]
        draws = Draws(domain, 1, "order", "first-option", *(() if name == "benchmark" else (name,)))
        states, seen = [space.start], {space.start}
        for line in lines:
            size = len(states)
            assert line["frontier"] == size
            values = [space.heuristic(state) for state in states]
            if size > 1:
                if name in ("benchmark", "random-2", "random-3"):
                    shown = list(range(size))
                    draws.shuffle(shown)
                else:
                    shown = {
                        "found": list(range(size)),
                        "newest-first": list(range(size))[::-1],
                        "best-first": sorted(range(size), key=lambda i: (values[i], i)),
                        "worst-first": sorted(range(size), key=lambda i: (_Falling(values[i]), i)),
                    }[name]
                assert line["order"] == shown
                assert line["chosen"] == shown[0]
            state = states.pop(line["chosen"])
            for following in space.successors(state):
                if following not in seen:
                    seen.add(following)
                    states.append(following)


class _Falling:
    """A key that sorts from the greatest to the least."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Falling) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Falling) and bool(other.value == self.value)


# A liking that is planted: a model that takes the first place. Each trial hides the goal among some
# options; a random order leaves its place to chance, the heuristic brings it near the front.


def early(rng: np.random.RandomState, trials: int) -> dict[str, np.ndarray]:
    """Log scores by order."""
    options = rng.randint(5, 60, trials)
    rank = (options * rng.random_sample(trials) ** 3).astype(int)  # of the goal, by the heuristic
    place = (options * rng.random_sample(trials)).astype(int)
    return {
        "benchmark": -np.log(1 + place),
        "best-first": -np.log(1 + rank),
        "worst-first": -np.log(options - rank),
    }


@cache
def spec() -> Spec:
    return spec_of("keys_doors", "order_sensitivity")


def analysed(logs: dict[str, np.ndarray], tmp_path: Path) -> dict[str, Any]:
    records = {name: records_of(values, name, "order_sensitivity") for name, values in logs.items()}
    analysis = OrderSensitivity().analyse(spec(), records, tmp_path)
    assert analysis is not None
    return {"sentence": analysis.sentence, **analysis.data}


def test_a_planted_liking_of_early_places_comes_back(tmp_path: Path) -> None:
    many = early(np.random.RandomState(12_345), 400_000)
    truth = {name: math.exp(float((v - many["benchmark"]).mean())) for name, v in many.items()}
    held, found = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for seed in range(300):
        data = analysed(early(np.random.RandomState(seed), 50), tmp_path)
        for name in ("best-first", "worst-first"):
            against = data["conditions"][name]["against_benchmark"]
            held[name] += against["ratio"]["low"] <= truth[name] <= against["ratio"]["high"]
            found[name] += against["holm_p_value"] < 0.05
    assert truth["best-first"] > 2.5
    assert truth["worst-first"] < 0.65
    assert min(held["best-first"], held["worst-first"]) >= 279  # 93 of each 100
    assert found["best-first"] >= 279
    assert found["worst-first"] >= 225


def test_nothing_is_found_where_nothing_is_planted(tmp_path: Path) -> None:
    beyond = wide = 0
    for seed in range(200):
        rng = np.random.RandomState(seed)
        hard = rng.normal(-2, 0.6, 16)
        names = ("benchmark", "random-2", "random-3", "found")
        data = analysed({name: hard + rng.normal(0, 0.3, 16) for name in names}, tmp_path)
        said = "beyond chance: " in data["sentence"]
        against = [c["against_benchmark"] for c in data["conditions"].values()]
        assert said is any(a["holm_p_value"] < 0.05 for a in against if a is not None)
        beyond += said
        wide += data["range"]["p_value"] < 0.05
    assert beyond <= 19  # 10 expected at most; 20 or more come in 1 of 300 cases
    assert_nominal(wide, 200)


def test_conditions_pair_and_the_benchmarks_is_a_score() -> None:
    scores = pairs_with_a_plain_score("order_sensitivity", NAMES)
    assert len(set(map(tuple, scores.values()))) == len(NAMES)  # this model sees places


def test_the_first_option_sorted_by_the_heuristic_is_the_heuristic(tmp_path: Path) -> None:
    run = ("domain=keys_doors", "model=first_option", "study=order_sensitivity", "trials=12")
    ran = beeline(tmp_path, *run, "study.orders=[best-first,random-2]")
    assert ran.returncode == 0, ran.stderr
    folder = tmp_path / "results/1.0.0/first_option/order_sensitivity"
    sorted_ = read_records(folder / "keys_doors.best-first.jsonl").records
    drawn = read_records(folder / "keys_doors.benchmark.jsonl").records
    logs = []
    for best, other in zip(sorted_, drawn, strict=True):
        assert best.arms["model"]["expansions"] == best.arms["heuristic"]["expansions"]
        logs.append(math.log(best.arms["heuristic"]["score"] / other.arms["model"]["score"]))
    data = json.loads((folder / "keys_doors.analysis.json").read_text())["data"]
    ratio = data["conditions"]["best-first"]["against_benchmark"]["ratio"]
    assert ratio["value"] == pytest.approx(math.exp(sum(logs) / 12))
    assert "1 of 2 orders differs from the benchmark's beyond chance: best-first" in " ".join(
        ran.stdout.split()
    )
    # Fewer trials than there are records: only those of the run count.
    again = beeline(tmp_path, *run[:-1], "trials=2", "study.orders=[best-first,random-2]")
    assert "over 2 trials by a factor of" in " ".join(again.stdout.split())
    assert "so few trials cannot tell which of them differ" in " ".join(again.stdout.split())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"orders": ["nope"]}, "there is no order 'nope': (one of: benchmark, best-first, found"),
        ({"orders": ["newest"]}, "did you mean newest-first?"),
        ({"orders": ["random-1"]}, "there is no order 'random-1'"),
        ({"orders": ["found", "found"]}, "this study would run 'found' twice"),
        ({"orders": ["benchmark"]}, "run the benchmark's own condition alone: name at least one other"),
        ({"orders": "found"}, "study.orders='found' must be a list such as [a,b]"),
        ({"orders": [7]}, "study.orders=[7] must be a text"),
        (
            {"order": ["found"]},
            "study.order is not a setting of study order_sensitivity: did you mean orders?",
        ),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as error:
        spec_of("tiles", "order_sensitivity", settings)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_commands_refuse_what_cannot_be_run(tmp_path: Path) -> None:
    wrong = beeline(tmp_path, "domain=tiles", "study=order_sensitivity", "study.orders=[nope]")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("beeline: there is no order 'nope'")
    assert not (tmp_path / "results/1.0.0").exists()
