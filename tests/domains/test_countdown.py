"""countdown: what a move makes, what a draw keeps, and bad parameters."""

from __future__ import annotations

from itertools import combinations as pairs
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domains.navigation.countdown
from beeline.draws import Draws
from beeline.errors import DomainError, SettingError
from beeline.space import UNREACHABLE, explore
from domains.navigation.countdown import Countdown, CountdownProblem, combinations, render

OFFICIAL = {"numbers": 4, "largest_number": 25, "smallest_target": 10, "largest_target": 100}

numbers = st.lists(st.integers(1, 60), min_size=2, max_size=5).map(lambda items: tuple(sorted(items)))


def countdown(**changes: int) -> Countdown:
    return Countdown("nearest_number", OFFICIAL | changes)


def test_sum_product_difference_quotient_in_that_order() -> None:
    assert combinations((2, 6)) == [(8,), (12,), (4,), (3,)]
    assert combinations((4, 6)) == [(10,), (24,), (2,)]  # 6 / 4 leaves a remainder


def test_a_difference_of_zero_is_no_move_but_a_quotient_of_one_is() -> None:
    assert combinations((5, 5)) == [(10,), (25,), (1,)]


def test_pairs_come_in_order_and_results_are_sorted() -> None:
    assert combinations((2, 3, 12)) == [
        (5, 12),
        (6, 12),
        (1, 12),
        (3, 14),
        (3, 24),
        (3, 10),
        (3, 6),
        (2, 15),
        (2, 36),
        (2, 9),
        (2, 4),
    ]


def test_equal_results_stay_in_the_list() -> None:
    # 2 + 2 and 2 * 2, once; 1 * 7 and 7 / 1.
    assert combinations((2, 2)) == [(4,), (4,), (1,)]
    assert combinations((1, 7)) == [(8,), (7,), (6,), (7,)]
    # Each of the equal numbers is a position of its own.
    assert combinations((3, 3, 4)).count((3, 7)) == 2


@given(numbers)
@settings(max_examples=60, deadline=None)
def test_moves_are_those_of_the_rule(state: tuple[int, ...]) -> None:
    expected = []
    for i, j in pairs(range(len(state)), 2):
        small, large = state[i], state[j]
        rest = [number for place, number in enumerate(state) if place not in (i, j)]
        made = [large + small, large * small]
        made += [large - small] if large - small else []
        made += [large // small] if large == small * (large // small) else []
        expected += [tuple(sorted([*rest, number])) for number in made]
    assert combinations(state) == expected


def test_goal_heuristic_and_text() -> None:
    problem = CountdownProblem((3, 7, 25), 22)
    assert problem.heuristic((3, 7, 25)) == (3, 3)
    assert problem.heuristic((3, 22)) == (0, 2)
    assert problem.heuristic((22,)) == (0, 1)
    assert problem.heuristic((21,)) == (1, 1)
    assert problem.is_goal((22,))
    assert not problem.is_goal((3, 22))
    assert not problem.is_goal((21,))
    assert (problem.objective, render((3, 7, 25))) == ("Be left with exactly one number: 22", "3 7 25")


@given(st.integers(1, 10**6))
@settings(max_examples=30, deadline=None)
def test_every_trial_keeps_the_rule_of_its_target(trial: int) -> None:
    instance = countdown().draw(trial, Draws("countdown", trial))
    start, target = instance["numbers"], instance["target"]
    assert start == sorted(start)
    assert len(start) == 4
    assert set(start) <= set(range(1, 26))
    assert 10 <= target <= 100
    assert target not in start
    space = explore(countdown().build(trial, instance))
    assert space.shortest_path == 3  # every number is used, so every solution is as long
    assert space.states_reaching_goal < space.states_reachable
    assert {space.to_goal[s] for s in range(space.states_reachable)} <= {0, 1, 2, 3, UNREACHABLE}


class Scripted(Draws):
    """Draws that come from a list."""

    def __init__(self, values: list[float]) -> None:
        super().__init__("scripted")
        self.random = iter(values).__next__


def test_a_target_out_of_range_or_among_the_numbers_redraws_all() -> None:
    domain = countdown(numbers=2, largest_number=10, smallest_target=10, largest_target=20)
    too_large = [0.85, 0.75, 0.4]  # 9 and 8, their product
    present = [0.95, 0.0, 0.4]  # 10 and 1, their product
    kept = [0.95, 0.4, 0.0]  # 10 and 5, their sum
    assert domain.draw(1, Scripted(too_large + present + kept)) == {"numbers": [5, 10], "target": 15}


def test_parameters_that_no_draw_can_meet_end_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains.navigation.countdown, "MOST_DRAWS", 50)
    domain = countdown(largest_number=2, smallest_target=90)
    with pytest.raises(DomainError, match=r"trial 3: none of 50 draws .* smallest_target 90"):
        domain.draw(3, Draws("countdown", 3))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"numbers": 1}, "numbers must be between 2 and 7, not 1"),
        ({"numbers": 8}, "numbers must be between 2 and 7, not 8"),
        ({"largest_number": 0}, "largest_number must be between 1 and 1000000, not 0"),
        ({"smallest_target": 0}, "smallest_target must be 1 or more, not 0"),
        ({"largest_target": 9}, r"largest_target must be at least smallest_target \(10\), not 9"),
    ],
)
def test_parameters_out_of_range_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=f"domain countdown: {reason}"):
        countdown(**changes)
