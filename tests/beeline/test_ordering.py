"""Orders of options: each is what its name says, from the draws that the rules name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.ordering import FIXED_ORDERS, Ordering, check_order
from beeline.search import Frontier

VALUES = [3, 1, 2, 1, 3, 2, 0]
"""A heuristic by state number."""


def ordering(name: str, trial: int = 4, model_id: str = "some-model") -> Ordering:
    return Ordering(name, "tiles", trial, model_id, VALUES.__getitem__)


def frontier(states: Sequence[int]) -> Frontier:
    return Frontier(list(states), [0] * len(states), [str(state) for state in states])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("found", [5, 0, 3, 6, 1]),
        ("newest-first", [1, 6, 3, 0, 5]),
        ("best-first", [6, 3, 1, 5, 0]),  # 0, 1, 1, 2, 3: of equals the older first
        ("worst-first", [0, 5, 3, 1, 6]),
    ],
)
def test_fixed_orders(name: str, shown: list[int]) -> None:
    states = [5, 0, 3, 6, 1]
    order = ordering(name)
    for _ in range(2):  # nothing is drawn, so the same again
        assert [states[index] for index in order.first(frontier(states))] == shown


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("benchmark", ("tiles", 4, "order", "some-model")),
        ("random-2", ("tiles", 4, "order", "some-model", "random-2")),
        ("random-3", ("tiles", 4, "order", "some-model", "random-3")),
        ("random-17", ("tiles", 4, "order", "some-model", "random-17")),
    ],
)
def test_random_orders_shuffle_the_labels_once_more_for_each_question(
    name: str, path: tuple[str | int, ...]
) -> None:
    order, draws = ordering(name), Draws(*path)
    for size, second in ((5, False), (7, False), (7, True), (2, False)):
        expected = list(range(size))
        for i in range(size - 1, 0, -1):
            j = draws.below(i + 1)
            expected[i], expected[j] = expected[j], expected[i]
        shown = frontier(range(size))
        assert (order.again(shown) if second else order.first(shown)) == expected


@pytest.mark.parametrize("name", FIXED_ORDERS)
def test_a_second_asking_is_shuffled_from_draws_of_its_own(name: str) -> None:
    order, draws = ordering(name), Draws("tiles", 4, "order", "some-model", name)
    expected = list(range(7))
    draws.shuffle(expected)
    shown = frontier(range(7))
    first = order.first(shown)
    assert order.again(shown) == expected
    assert order.first(shown) == first


@given(st.lists(st.integers(0, 6), min_size=2, max_size=7, unique=True))
def test_every_order_shows_every_option_once(states: list[int]) -> None:
    for name in ("benchmark", "random-2", *FIXED_ORDERS):
        assert sorted(ordering(name).first(frontier(states))) == list(range(len(states)))
    newest, oldest = (ordering(name).first(frontier(states)) for name in ("newest-first", "found"))
    assert newest == oldest[::-1]


def test_trials_models_and_names_have_orders_of_their_own() -> None:
    shown = frontier(range(7))
    orders = [
        ordering("benchmark"),
        ordering("random-2"),
        ordering("random-3"),
        ordering("benchmark", trial=5),
        ordering("benchmark", model_id="other-model"),
        ordering("random-2", trial=5),
    ]
    found = {tuple(order.first(shown) + order.first(shown)) for order in orders}
    assert len(found) == len(orders)


@pytest.mark.parametrize("name", ["benchmark", "random-2", "random-999999", *FIXED_ORDERS])
def test_names_of_orders(name: str) -> None:
    assert check_order(name) == name


@pytest.mark.parametrize(
    "name", ["nope", "random-1", "random-0", "random-02", "random-", "Found", "", "random-2 "]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=r"^there is no order .*one of: .*random-4 and so on draw too$"):
        check_order(name)
