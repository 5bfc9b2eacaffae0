"""Draws, intervals, definitions, the resolver and answers, each against its rule."""

from __future__ import annotations

import math
import random
import sys
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import ModelError, SettingError
from beeline.model_arm import UsabilityGuard, option_weights
from beeline.question import Answer
from beeline.resolver import resolve
from beeline.statistics import bootstrap_means, geometric_interval, overall_interval, uniform_draws
from beeline.versions import PINNED, Definition, name_run
from tests.domains_found import read_yaml


def test_draws_follow_the_rule() -> None:
    seed = int.from_bytes(sha256(b'["tiles", 1]').digest(), "big")
    plain, draws = random.Random(seed), Draws("tiles", 1)
    assert [draws.random() for _ in range(5)] == [plain.random() for _ in range(5)]
    assert draws.below(10) == int(plain.random() * 10)
    items, copy = list(range(9)), list(range(9))
    draws.shuffle(items)
    for i in range(8, 0, -1):
        j = int(plain.random() * (i + 1))
        copy[i], copy[j] = copy[j], copy[i]
    assert items == copy
    assert Draws("1").random() != Draws(1).random()
    with pytest.raises(TypeError):
        Draws(True)


@given(st.text(max_size=5), st.integers(0, 300))
def test_bulk_draws_are_the_same_stream(name: str, count: int) -> None:
    draws = Draws(name, 3)
    assert uniform_draws((name, 3), count).tolist() == [draws.random() for _ in range(count)]


def test_bootstrap_equals_a_plain_loop() -> None:
    values = [math.log(x) for x in (0.5, 0.2, 1.0, 0.01, 0.3)]
    draws = Draws("bootstrap", "x")
    plain = [math.fsum(draws.choice(values) for _ in values) / 5 for _ in range(2000)]
    assert bootstrap_means(values, ("bootstrap", "x")) == plain
    interval = geometric_interval([0.5, 0.2, 1.0, 0.01, 0.3], ("bootstrap", "x"))
    assert interval is not None
    assert interval.low == math.exp(sorted(plain)[49])
    assert interval.high == math.exp(sorted(plain)[1949])


def test_overall_resamples_within_domains() -> None:
    scores = {"a": [0.5, 0.25], "b": [1.0, 0.1, 0.4]}
    draws, means = Draws("o"), []
    logs = [[math.log(x) for x in values] for values in scores.values()]
    for _ in range(2000):
        parts = [math.fsum(draws.choice(v) for _ in v) / len(v) for v in logs]
        means.append(math.fsum(parts) / 2)
    interval = overall_interval(scores, ("o",))
    assert interval is not None
    assert math.isclose(interval.low, math.exp(sorted(means)[49]), rel_tol=1e-12)
    assert overall_interval({"a": []}, ("o",)) is None


def version(**changed: object) -> Definition:
    table = read_yaml("version", "1.0.0.yaml")
    del table["name"]
    return Definition.read(table | changed)


def test_the_released_definition_never_moves() -> None:
    digest = "61c3b3c87e05482a8b36c6927efeb107393b1db6d7b57893e0cc12f797c4e984"
    assert version().digest == PINNED["1.0.0"] == digest


def test_custom_runs_are_named_and_listed() -> None:
    changed = version(max_expansions=7)
    pinned = PINNED["1.0.0"]
    assert name_run("1.0.0", version(), version(), None, pinned) == "1.0.0"
    assert name_run("1.0.0", version(), changed, "x", pinned) == "custom-x"
    with pytest.raises(SettingError, match="max_expansions: 2500 -> 7"):
        name_run("1.0.0", version(), changed, None, pinned)
    with pytest.raises(SettingError, match="never changes"):
        name_run("1.0.0", changed, changed, None, pinned)
    with pytest.raises(SettingError, match=r"custom='\.\./x'"):
        name_run("1.0.0", version(), changed, "../x", pinned)


@pytest.mark.parametrize(
    "target", ["os:system", "subprocess:run", "antigravity:fly", "beelinex:a", "x", "a b:c"]
)
def test_strangers_are_not_imported(target: str) -> None:
    with pytest.raises(SettingError):
        resolve(target)
    assert "antigravity" not in sys.modules


def test_the_resolver_finds_and_hints() -> None:
    assert resolve("beeline.draws:Draws") is Draws
    assert resolve("json:dumps", ["json"])
    with pytest.raises(SettingError, match="did you mean Draws"):
        resolve("beeline.draws:Drawz")
    with pytest.raises(SettingError, match="no module"):
        resolve("beeline.nothing:X")


@pytest.mark.parametrize(
    ("probabilities", "weights", "reason"),
    [
        ({"a": 0.25, "b": 0.75}, [0.25, 0.75], None),
        ({"b": 0.5}, [0.0, 0.5], None),
        ([0, 1], [0, 1], None),
        ({"a": float("nan"), "b": 0.5}, [0.0, 0.5], None),
        ({"a": 10**400, "b": 0.5}, [0.0, 0.5], None),
        ({"a": True, "b": "0.9"}, [0.0, 0.0], "no finite"),
        ({"a": float("inf"), "b": -1.0}, [0.0, 0.0], "no finite"),
        ({"a": 0.0, "b": 0.0}, [0.0, 0.0], "all zero"),
        ({"x": 1.0}, [0.0, 0.0], "none of the shown"),
        ({}, [0.0, 0.0], "empty"),
        ([0.5], [0.0, 0.0], "1 probabilities for 2"),
    ],
)
def test_what_an_answer_weighs(probabilities: object, weights: list[float], reason: str | None) -> None:
    found, problem = option_weights(Answer(probabilities), ("a", "b"))  # type: ignore[arg-type]
    assert found == weights
    assert (problem is None) == (reason is None)
    assert reason is None or (problem is not None and reason in problem)


def test_the_guard_stops_only_what_was_never_usable() -> None:
    guard = UsabilityGuard(3)
    guard.bad("all zero")
    guard.bad("all zero")
    with pytest.raises(ModelError, match="3 times all zero"):
        guard.bad("all zero")
    lifted = UsabilityGuard(1)
    lifted.good()
    lifted.bad("all zero")
