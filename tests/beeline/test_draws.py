"""Draws against the rule written out once more."""

from __future__ import annotations

import json
import random
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws, seed_of

PATHS = st.lists(st.text(max_size=6) | st.integers(-(10**20), 10**20), min_size=1, max_size=4)


def plain(path: list[str | int]) -> random.Random:
    return random.Random(int(sha256(json.dumps(path).encode()).hexdigest(), 16))


@given(PATHS, st.integers(1, 12), st.integers(0, 12))
def test_every_kind_of_draw_is_made_of_the_plain_floats(path: list[str | int], n: int, wanted: int) -> None:
    wanted = min(wanted, n)
    draws, floats = Draws(*path), plain(path)
    assert draws.random() == floats.random()
    assert draws.below(n) == int(floats.random() * n)
    assert draws.choice(range(n)) == int(floats.random() * n)
    shuffled, expected = list(range(n)), list(range(n))
    draws.shuffle(shuffled)
    for last in range(n - 1, 0, -1):
        other = int(floats.random() * (last + 1))
        expected[last], expected[other] = expected[other], expected[last]
    assert shuffled == expected
    left, sample = list(range(n)), []
    for _ in range(wanted):
        sample.append(left.pop(int(floats.random() * len(left))))
    assert draws.sample(range(n), wanted) == sample
    # All streams are still at the same place.
    assert draws.random() == floats.random()


def test_known_values() -> None:
    # Literals, so that a change of the rule on both sides of the tests above shows.
    assert seed_of("tiles", 1) == int(sha256(b'["tiles", 1]').hexdigest(), 16)
    assert seed_of("é") == int(sha256(b'["\\u00e9"]').hexdigest(), 16)


def test_a_string_and_its_number_are_different_paths() -> None:
    assert seed_of("1") != seed_of(1)
    assert seed_of("a", "b") != seed_of("a, b") != seed_of("b", "a")


@pytest.mark.parametrize("part", [True, False, 1.0, None, b"x", ("a",)])
def test_only_strings_and_integers_name_draws(part: object) -> None:
    with pytest.raises(TypeError, match="strings and integers"):
        seed_of("a", part)  # type: ignore[arg-type]


def test_nothing_to_draw_from_is_an_error() -> None:
    with pytest.raises(IndexError):
        Draws("x").choice([])
    with pytest.raises(IndexError):
        Draws("x").sample([1, 2], 3)


def test_sampling_and_choosing_leave_the_items_alone() -> None:
    items = [1, 2, 3]
    Draws("x").sample(items, 2)
    assert items == [1, 2, 3]
