"""Repeats of the same trials: planted noise and spread between orders come back, none where none is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from beeline.lines import compact, write_lines
from beeline.records import Cell
from beeline.statistics import Interval
from beeline.statistics.from_records import scores
from studies.changes import Changes, compare_paths, share_of
from studies.repeats import Repeated, find_changes, measure_repeats
from tests.studies.conditions import records_of


def repeated(values: np.ndarray) -> Repeated:
    """Of log scores of shape (trials, orders, repeats)."""
    names = ["benchmark", *(f"random-{n}" for n in range(2, values.shape[1] + 1))]
    keyed = {name: scores(records_of(values[:, n], name, "s")) for n, name in enumerate(names)}
    found = measure_repeats(keyed, ["p"])
    assert found is not None
    return found


def holds(interval: Interval | None, truth: float) -> bool:
    assert interval is not None
    return interval.low <= truth <= interval.high


def test_planted_noise_comes_back() -> None:
    trial, order, repeat = 0.6, 0.25, 0.3
    held = dict.fromkeys(("trial", "order", "repeat", "rerun"), 0)
    for seed in range(100):
        rng = np.random.RandomState(seed)
        shown = rng.normal(-3, trial, (40, 1)) + rng.normal(0, order, (40, 2))
        found = repeated(shown[:, :, None] + rng.normal(0, repeat, (40, 2, 3)))
        assert found.components is not None
        held["trial"] += holds(found.components.trial, trial**2)
        held["order"] += holds(found.components.order, order**2)
        held["repeat"] += holds(found.components.repeat, repeat**2)
        # Were these very trials run again for ever.
        held["rerun"] += holds(found.rerun["benchmark"], math.exp(float(shown[:, 0].mean())))
    assert min(held.values()) >= 93, held


def test_no_noise_and_no_order_are_found_where_there_are_none() -> None:
    of_order = 0
    for seed in range(100):
        rng = np.random.RandomState(seed)
        hard = rng.normal(-3, 0.6, (30, 1, 1))
        found = repeated(hard + rng.normal(0, 0.3, (30, 2, 3)))
        assert found.components is not None
        assert found.components.order is not None
        of_order += found.components.order.low > 0
    assert of_order <= 7  # 2.5 expected; 8 or more come in 1 of 250 cases
    still = repeated(np.broadcast_to(rng.normal(-3, 0.6, (30, 2, 1)), (30, 2, 3)))
    assert still.components is not None
    assert still.components.repeat == Interval(0.0, 0.0, 0.0)
    assert (still.scores_changed.value, still.scores_changed.low) == (0, 0)
    score = still.scores["benchmark"].value
    assert still.rerun["benchmark"] is not None
    assert still.rerun["benchmark"].low == pytest.approx(score) == still.rerun["benchmark"].high


def test_rounding_is_no_chance() -> None:
    """The mean of three logs of 0.1 is not quite the log of 0.1."""
    alike = repeated(np.full((7, 2, 3), math.log(0.1)))
    for found in (alike.components, alike.resampled):
        assert found is not None
        assert found.shares() == {"trial": 0.0, "order": 0.0, "repeat": 0.0}
    hard = np.log(np.arange(1, 8) / 30)
    steady = repeated(np.broadcast_to(hard[:, None, None], (7, 2, 3)))
    assert steady.components is not None
    assert steady.components.shares() == {"trial": 1.0, "order": 0.0, "repeat": 0.0}


def test_numbers_of_a_small_table() -> None:
    values = np.log(np.array([[[0.1, 0.2], [0.1, 0.1]], [[0.4, 0.4], [0.2, 0.2]]]))
    found = repeated(values)
    assert (found.trials, found.repeats) == (2, 2)
    assert found.by_repeat["benchmark"] == pytest.approx((0.2, math.sqrt(0.08)))
    assert found.by_repeat["random-2"] == pytest.approx((math.sqrt(0.02),) * 2)
    assert found.all_scores == [*found.by_repeat["benchmark"], *found.by_repeat["random-2"]]
    assert found.scores_changed.value == 0.25  # one of two trials in two orders
    assert found.scores["benchmark"].value == pytest.approx(math.sqrt(0.2 * math.sqrt(0.08)))
    assert (found.between_repeats, found.first_question, found.between_orders) == (None, None, None)


def test_one_trial_has_no_spread_to_split() -> None:
    found = repeated(np.log(np.array([[[0.1, 0.2]]])))
    assert (found.trials, found.components, found.resampled) == (1, None, None)


def test_trials_without_every_order_and_repeat_are_left_out() -> None:
    whole = scores(records_of(np.full((4, 2), -1.0), "benchmark", "s"))
    part = {key: value for key, value in whole.items() if key[1:] != (3, 2)}
    found = measure_repeats({"benchmark": whole, "random-2": part}, ["p"])
    assert found is not None
    assert found.trials == 3
    # An order without any record (stopped before it) is passed over.
    alone = measure_repeats({"benchmark": whole, "random-2": {}}, ["p"])
    assert alone is not None
    assert list(alone.scores) == ["benchmark"]


def test_without_repeats_there_is_nothing() -> None:
    once = scores(records_of(np.full((4, 1), -1.0), "benchmark", "s"))
    for conditions in ({}, {"benchmark": {}}, {"benchmark": once}):
        assert measure_repeats(conditions, ["p"]) is None


@pytest.mark.parametrize("noise", [0.0, 0.04])
def test_a_planted_noise_of_decisions_comes_back(noise: float) -> None:
    """40 trials of up to 30 decisions among 8 options, 3 repeats: each decision goes astray by chance."""
    # Two repeats agree when neither goes astray, or both to the same of the 7 others.
    truth = 1 - (1 - noise) ** 2 - noise**2 / 7
    held = 0
    for seed in range(300):
        rng = np.random.RandomState(seed)
        by_trial = {}
        for trial, length in enumerate(rng.randint(3, 31, 40).tolist()):
            best = rng.randint(0, 8, length)
            astray = (best + rng.randint(1, 8, (3, length))) % 8
            chosen = np.where(rng.random_sample((3, length)) < noise, astray, best).tolist()
            steps = [
                [{"forced": False, "fallback": False, "order": [], "chosen": c} for c in one]
                for one in chosen
            ]
            pairs = ((0, 1), (0, 2), (1, 2))
            by_trial[trial] = sum((compare_paths(steps[a], steps[b], True) for a, b in pairs), Changes())
        held += holds(share_of(by_trial), truth)
    assert held >= 279  # 93 of each 100


def test_every_pair_of_repeats_and_of_orders_is_compared(tmp_path: Path) -> None:
    def step(chosen: int, order: int) -> dict[str, object]:
        return {"forced": False, "fallback": False, "order": [order], "chosen": chosen}

    # Trial 1 in two orders, three repeats each, trial 2 in one: what each chose, twice.
    chose = {
        ("benchmark", 1): [(0, 0), (0, 1), (1, 0)],
        ("random-2", 1): [(0, 0), (0, 0), (0, 0)],
        ("benchmark", 2): [(0, 0)],
    }
    cells = {name: Cell("1.0.0", "m", "repeatability", "tiles", name) for name in ("benchmark", "random-2")}
    for (name, trial), repeats in chose.items():
        for repeat, picks in enumerate(repeats, start=1):
            lines = [compact(step(pick, len(name))) for pick in picks]
            write_lines(cells[name].trace_path(tmp_path, trial, repeat), {"schema": 1}, lines, "trace")
    records = {name: records_of(np.full((1, 3), -1.0), name, "repeatability") for name in cells}
    records["benchmark"] += records_of(np.full((2, 1), -1.0), "benchmark", "repeatability")[1:]
    repeats, orders = find_changes(tmp_path, cells, records)
    # Benchmark: repeats 1 and 2 part at the second, 1 and 3, 2 and 3 at the first. Random-2: never.
    assert repeats == {1: Changes(4, 3, 3, 2) + Changes(6, 0, 3, 0)}
    # The same repeat in both orders, though shown otherwise: all alike; the second differs; the first.
    assert orders == {1: Changes(2, 0, 1, 0) + Changes(2, 1, 1, 0) + Changes(1, 1, 1, 1)}
    assert find_changes(tmp_path / "elsewhere", cells, records) == ({}, {})
