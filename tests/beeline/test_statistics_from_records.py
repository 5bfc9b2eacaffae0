"""Records to tables: what is keyed, what is passed over, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from beeline.statistics.censored import Run
from beeline.statistics.from_records import layout, runs, scores
from tests.beeline.test_scoring import record, result


def test_scores_and_runs() -> None:
    arms = {"model": result(0.002, False) | {"expansions": 2_500}, "random": result(0.5)}
    first = record(1, arms)
    again = replace(first, repeat=2)
    without = record(2, {"random": result(0.25)})
    assert scores([first, again, without]) == {("tiles", 1, 1): 0.002, ("tiles", 1, 2): 0.002}
    assert scores([without, first], "random") == {("tiles", 2, 1): 0.25, ("tiles", 1, 1): 0.5}
    assert runs([first, again, without]) == [Run(1, 0.002, False, 2_500, 4, 9)]
    assert runs([first])[0].limit == 2_500
    assert runs([first])[0].censored
    with pytest.raises(ValueError, match=r"\('tiles', 1, 1\) comes twice"):
        scores([first, replace(first, condition="newest-first")])


def test_layout_keeps_whole_trials_only() -> None:
    order = {("a", t, r): t / 10 + r / 100 for t in (1, 2, 3) for r in (0, 1)}
    other = {key: value / 2 for key, value in order.items() if key != ("a", 2, 1)}
    kept, values = layout({"one": order, "two": other})
    assert kept == [("a", 1), ("a", 3)]
    assert values.shape == (2, 2, 2)
    assert values[1, 1, 0] == math.log(0.15)
    np.testing.assert_allclose(values[:, 0] - values[:, 1], math.log(2))
    assert layout({"one": {}})[1].shape == (0, 1, 0)
