"""The benchmark's intervals: bit for bit those of a plain loop, and those that were published."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.arms import run_offline_arm
from beeline.draws import Draws
from beeline.statistics import RESAMPLES, bootstrap_means, geometric_interval, mean_interval, overall_interval
from beeline.statistics.exact import split
from tests.domains_found import definition, instance_of, make, targets
from tests.shared import shared_folder

PUBLISHED = {
    "tiles": ("0.31 (0.24-0.39)", "0.0076 (0.0066-0.0090)"),
    "blocksworld": ("0.71 (0.64-0.79)", "0.0052 (0.0047-0.0058)"),
    "countdown": ("0.28 (0.23-0.34)", "0.05 (0.04-0.06)"),
    "word_ladder": ("0.32 (0.27-0.38)", "0.0066 (0.0055-0.0081)"),
    "wikispeedia": ("0.12 (0.09-0.16)", "0.0032 (0.0027-0.0038)"),
    "rush_hour": ("0.04 (0.03-0.06)", "0.0093 (0.0078-0.01)"),
    "keys_doors": ("0.58 (0.54-0.62)", "0.18 (0.16-0.19)"),
}
"""Section 7 of the rules: heuristic and random, geometric means over 100 trials."""

ordinary = st.floats(-10, 10)
wild = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


def plain_means(values: list[float], *path: str | int) -> list[float]:
    draws = Draws(*path)
    return [math.fsum(draws.choice(values) for _ in values) / len(values) for _ in range(RESAMPLES)]


@settings(max_examples=25, deadline=None)
@given(st.lists(ordinary | wild, min_size=1, max_size=40), st.integers(0, 5))
def test_every_resample_has_the_bits_of_a_plain_loop(values: list[float], name: int) -> None:
    assert [x.hex() for x in bootstrap_means(values, ("b", name))] == [
        x.hex() for x in plain_means(values, "b", name)
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(wild | ordinary | st.sampled_from([0.0, -0.0, 5e-324, 1.0, 1e16]), min_size=1, max_size=30))
def test_limbs_sum_as_fsum_does(values: list[float]) -> None:
    limbs = split(np.array(values), len(values))
    if limbs is None:
        assert any(x and not 1e-120 < abs(x) < 1e120 for x in values)
        return
    everything = limbs.row_sums(np.arange(len(values))[None, :])
    assert everything[0].hex() == math.fsum(values).hex()
    restored = [
        math.fsum(p * s for p, s in zip(column, limbs.scales, strict=True)) for column in limbs.parts.T
    ]
    assert restored == values


def test_log_scores_need_two_limbs() -> None:
    logs = np.log([(s + 1) / e for s in range(1, 40) for e in range(s + 1, 2501, 7)])
    limbs = split(logs, 100)
    assert limbs is not None
    assert len(limbs.parts) == 2


def test_half_way_sums_round_to_even() -> None:
    values = [1.0, 2.0**-53, 2.0**-53, -(2.0**-106)]
    limbs = split(np.array(values), 8)
    assert limbs is not None
    rows = np.array([[0, 1, 3, 3], [0, 1, 1, 3], [0, 1, 2, 2], [0, 0, 1, 1]])
    assert limbs.row_sums(rows).tolist() == [math.fsum(values[i] for i in row) for row in rows]


def test_as_many_items_as_bits_allow() -> None:
    """64 values just below 2: their limbs add up to almost 2**53, and one bit more would be lost."""
    rng = np.random.RandomState(0)
    for items in (2, 64, 100, 128):
        values = rng.uniform(1.9, 2.0, items)
        rows = rng.randint(0, items, (300, items))
        limbs = split(values, items)
        assert limbs is not None
        assert limbs.row_sums(rows).tolist() == [math.fsum(row) for row in values[rows].tolist()]


def test_what_cannot_be_split_is_summed_plainly() -> None:
    for odd in (1e308, 5e-324, math.inf):
        values = [1.0, odd, 0.25]
        assert split(np.array(values), 3) is None
        assert bootstrap_means([1.0, odd / 4, 0.25], ("x",)) == plain_means([1.0, odd / 4, 0.25], "x")


def test_bounds_are_the_ranked_means_and_remembered_by_value() -> None:
    values = [0.3, 0.1, 0.9, 0.5, 0.7]
    for path in (("a", 1), ("a", "1"), ("a", 1)):
        ranked = sorted(plain_means(values, *path))
        found = mean_interval(values, path)
        assert found is not None
        assert (found.low, found.high) == (ranked[49], ranked[1949])
    with pytest.raises(TypeError):
        mean_interval(values, ("a", True))


def test_overall_draws_pass_from_domain_to_domain() -> None:
    scores = {"b": [0.5, 0.25, 0.125], "a": [1.0, 0.1], "c": [0.3] * 4}
    draws, means = Draws("o"), []
    logs = [[math.log(x) for x in values] for values in scores.values()]
    for _ in range(RESAMPLES):
        means.append(math.fsum([math.fsum(draws.choice(v) for _ in v) / len(v) for v in logs]) / 3)
    ranked = sorted(means)
    found = overall_interval(scores, ("o",))
    assert found is not None
    assert (found.low, found.high) == (math.exp(ranked[49]), math.exp(ranked[1949]))


def printed(value: float) -> str:
    """As the published tables print: two decimals from 0.01 up, else two significant digits."""
    if value >= 0.01:
        return f"{value:.2f}"
    return f"{value:.{1 - math.floor(math.log10(value))}f}"


@cache
def scores(name: str) -> dict[str, list[float]]:
    """Scores of trials 1 to 100 in the heuristic and the random arm."""
    domain, limits = make(name), definition().limits
    found: dict[str, list[float]] = {"heuristic": [], "random": []}
    for trial in range(1, 101):
        space = domain.space(trial, instance_of(domain, trial))
        for arm, values in found.items():
            result = run_offline_arm(arm, space, name, trial, limits)
            values.append(result.as_dict(space.shortest_path, limits)["score"])
    return found


def test_every_domain_has_published_figures() -> None:
    assert set(PUBLISHED) == set(targets())


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_intervals_are_reproduced_to_the_printed_digits(name: str) -> None:
    if name in ("word_ladder", "wikispeedia"):
        shared_folder("data")
    label = f"{name}.{make(name).heuristic}"
    for arm, expected in zip(("heuristic", "random"), PUBLISHED[name], strict=True):
        interval = geometric_interval(scores(name)[arm], ("bootstrap", "1.0.0", arm, label))
        assert interval is not None
        shown = f"{printed(interval.value)} ({printed(interval.low)}-{printed(interval.high)})"
        assert shown == expected, arm
