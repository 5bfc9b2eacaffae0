"""keys_doors: where one can go, what a building says, and which buildings are too easy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domains.navigation.keys_doors
from beeline.draws import Draws
from beeline.errors import DomainError, SettingError
from beeline.space import explore
from domains.navigation.keys_doors import KeysDoors, KeysDoorsProblem, State, statements
from domains.navigation.keys_doors_layout import START, Layout, draw_layout, solvable_within

OFFICIAL = {"doors": 10, "min_moves": 12}

# start -- red -- green (exit)
#   \____ blue -- white
DOORS = [("red", START), ("blue", START), ("green", "red"), ("white", "blue")]
KEYS = [("blue", START), ("red", "blue"), ("white", START), ("green", "white")]


def keys_doors(**changes: int) -> KeysDoors:
    return KeysDoors("locked_doors", OFFICIAL | changes)


def building(order: Sequence[int] = range(9)) -> KeysDoorsProblem:
    return KeysDoorsProblem(DOORS, KEYS, "green", order)


def at(room: str, *entered: str) -> State:
    return State(room, frozenset({START, room, *entered}))


def test_back_first_then_the_doors_of_this_room_in_door_order() -> None:
    problem = building()
    assert problem.successors(problem.start) == [at("blue")]  # the red key is not held yet
    assert problem.successors(at("blue")) == [at(START, "blue"), at("white", "blue")]
    assert problem.successors(at(START, "blue")) == [at("red", "blue"), at("blue")]
    assert problem.successors(at("red", "blue")) == [at(START, "red", "blue")]  # no green key
    after = problem.successors(at("red", "blue", "white"))
    assert after == [at(START, "red", "blue", "white"), at("green", "red", "blue", "white")]


def test_entering_again_changes_nothing_but_the_room() -> None:
    problem = building()
    assert problem.successors(at("red", "green", "blue", "white")) == [
        at(START, "red", "green", "blue", "white"),
        at("green", "red", "blue", "white"),
    ]


def test_heuristic_counts_closed_doors_and_keys_not_held_on_the_way() -> None:
    problem = building()
    assert problem.heuristic(problem.start) == 4
    assert problem.heuristic(at("blue")) == 3  # the red key is held
    assert problem.heuristic(at("white", "blue")) == 2  # and the green one
    assert problem.heuristic(at("red", "blue")) == 2  # red open, green closed and without its key
    assert problem.heuristic(at("green", "red", "blue", "white")) == 0
    assert problem.heuristic(at("red", "green", "blue", "white")) == 0  # left again: open for ever


def test_goal_is_the_exit_room_itself() -> None:
    problem = building()
    assert problem.is_goal(at("green", "red", "blue", "white"))
    assert not problem.is_goal(at("red", "green", "blue", "white"))
    assert explore(problem).shortest_path == 6


def test_text_names_room_keys_held_and_doors_open_in_door_order() -> None:
    problem = building()
    assert problem.render(problem.start) == "in start; keys blue white; open none"
    assert problem.render(at("white", "blue")) == "in white; keys red blue green white; open blue white"
    behind = [("red", START), ("blue", "red")], [("red", "red"), ("blue", "red")]
    nothing = KeysDoorsProblem(*behind, "blue", [])
    assert nothing.render(nothing.start) == "in start; keys none; open none"


def test_context_tells_every_fact_once_in_the_drawn_order() -> None:
    facts = statements(DOORS, KEYS, "green")
    assert facts[:2] == ("The red door is in the start room.", "The blue door is in the start room.")
    assert facts[4:6] == ("The blue key is in the start room.", "The red key is in the blue room.")
    assert facts[8] == "The exit is behind the green door."
    order = [8, 3, 0, 5, 1, 7, 2, 6, 4]
    assert building(order).context.endswith(" ".join(facts[i] for i in order))


@given(st.integers(1, 10**6))
@settings(max_examples=20, deadline=None)
def test_statements_are_shuffled_by_draws_of_their_own(trial: int) -> None:
    instance = keys_doors().draw(trial, Draws("keys_doors", trial))
    order = list(range(21))
    Draws("keys_doors", trial, "statements").shuffle(order)
    assert instance["statements"] == order
    assert explore(keys_doors().build(trial, instance)).shortest_path >= 12


@given(st.integers(1, 12), st.integers(0, 10**9))
@settings(max_examples=60, deadline=None)
def test_a_building_is_a_tree_whose_doors_can_all_be_opened(doors: int, seed: int) -> None:
    layout = draw_layout(doors, Draws("test", seed))
    assert len(set(layout.colours)) == doors
    assert all(layout.parent[door] < door for door in range(1, doors + 1))
    assert sorted(layout.placed) == list(range(1, doors + 1))
    reachable = {0}
    for door in layout.placed:
        assert {layout.parent[door], layout.key_room[door]} <= reachable
        reachable.add(door)
    assert layout.exit not in layout.parent


def problem_of(layout: Layout) -> KeysDoorsProblem:
    rooms = (START, *layout.colours)
    return KeysDoorsProblem(
        [(rooms[door], rooms[layout.parent[door]]) for door in range(1, len(rooms))],
        [(rooms[door], rooms[layout.key_room[door]]) for door in layout.placed],
        rooms[layout.exit],
        [],
    )


@given(st.integers(1, 8), st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_quick_decision_equals_the_exhaustive_search(doors: int, seed: int) -> None:
    layout = draw_layout(doors, Draws("test", seed))
    shortest = explore(problem_of(layout)).shortest_path
    for moves in (-1, 0, 1, shortest // 2, shortest - 1, shortest, shortest + 1, 99):
        assert solvable_within(layout, moves) == (moves >= shortest)


def test_quick_decision_walks_as_often_as_it_must() -> None:
    # Keys lie so that one has to go to and fro: more moves than twice the needed rooms.
    #   start - 1 - 3,  start - 2 - 4,  start - 5; keys: 1, 2 at start, 3 in 4, 4 in 1, 5 in 3
    layout = Layout(["red"] * 5, [0, 0, 0, 1, 2, 0], [0, 0, 0, 4, 1, 3], [1, 2, 4, 3, 5], 5)
    assert [solvable_within(layout, moves) for moves in (10, 11)] == [False, True]
    assert not solvable_within(replace(layout, exit=3), 7)
    assert solvable_within(replace(layout, exit=3), 8)


def test_hopeless_min_moves_ends_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains.navigation.keys_doors, "MOST_LAYOUTS", 20)
    with pytest.raises(DomainError, match=r"trial 3: each of 20 buildings of 10 doors .* min_moves 90"):
        keys_doors(min_moves=90).draw(3, Draws("keys_doors", 3))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"doors": 0}, r"doors must be between 1 and 12 \(the colours\), not 0"),
        ({"doors": 13}, r"doors must be between 1 and 12 \(the colours\), not 13"),
        ({"min_moves": -1}, "min_moves must be between 0 and 100 .* not -1"),
        ({"doors": 3}, r"min_moves must be between 0 and 9 \(3 doors never need more\), not 12"),
    ],
)
def test_parameters_out_of_range_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=f"domain keys_doors: {reason}"):
        keys_doors(**changes)
