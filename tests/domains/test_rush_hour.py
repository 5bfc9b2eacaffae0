"""rush_hour: the rules by hand, and each shortcut against the plain way on random boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domains.navigation.rush_hour
import domains.navigation.rush_hour_easy
from beeline.draws import Draws
from beeline.errors import DomainError, SettingError
from beeline.space import UNREACHABLE, backward_distances
from domains.navigation.rush_hour import Positions, RushHour, RushHourProblem
from domains.navigation.rush_hour_board import Vehicle, draw_vehicles, vehicles_of
from domains.navigation.rush_hour_easy import solvable_within
from domains.navigation.rush_hour_kernel import FAR, join, sweep
from domains.navigation.rush_hour_lines import lines_of
from domains.navigation.rush_hour_space import needs_moves, pack, space_of, unpack

OFFICIAL = {"vehicles": 10, "min_moves": 6}

SMALL = ("..A...", "..A...", "XXA.B.", "....B.", "CC....", "......")
LOCKED = ("..A...", "..A...", "XXA...", "..B...", "..B...", "..B...")  # the column is full
SEARCHED = ("..A...", "..ACC.", "XXA.B.", "..DDB.", "......", "......")


def board(rows: Sequence[str]) -> RushHourProblem:
    return RushHourProblem(vehicles_of(rows))


def drawn(count: int, seed: int) -> RushHourProblem:
    return RushHourProblem(draw_vehicles(count, Draws("test", seed)))


def rush_hour(**changes: int) -> RushHour:
    return RushHour("blocking_cars", OFFICIAL | changes)


class Scripted(Draws):
    """Draws that come from a list."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__("scripted")
        self.random = iter(values).__next__


# The rules


def test_slides_in_order_smaller_coordinates_first() -> None:
    problem = board(SMALL)
    assert problem.start == (0, 0, 2, 0)  # X, A, B, C
    assert problem.successors(problem.start) == [
        (0, 1, 2, 0),  # A down by 1, 2, 3; X is wedged in
        (0, 2, 2, 0),
        (0, 3, 2, 0),
        (0, 0, 1, 0),  # B up by 1, 2, then down by 1, 2
        (0, 0, 0, 0),
        (0, 0, 3, 0),
        (0, 0, 4, 0),
        (0, 0, 2, 1),  # C right by 1, 2, 3, 4
        (0, 0, 2, 2),
        (0, 0, 2, 3),
        (0, 0, 2, 4),
    ]
    # Nearest first on either side, and no further than the first thing in the way.
    assert problem.successors((3, 3, 0, 4))[:3] == [(2, 3, 0, 4), (1, 3, 0, 4), (0, 3, 0, 4)]
    assert (4, 3, 0, 4) in problem.successors((3, 3, 0, 4))
    assert problem.successors((0, 3, 2, 3))[:2] == [(1, 3, 2, 3), (2, 3, 2, 3)]


def test_goal_heuristic_and_text() -> None:
    problem = board(SMALL)
    assert problem.heuristic(problem.start) == 3
    assert problem.heuristic((0, 3, 2, 0)) == 2
    assert problem.heuristic((3, 3, 0, 0)) == 1  # nothing ahead, but not out
    assert problem.heuristic((4, 3, 0, 0)) == 0
    assert [problem.is_goal((red, 3, 0, 0)) for red in range(5)] == [False] * 4 + [True]
    assert problem.render(problem.start) == " | ".join(SMALL)
    assert problem.render((4, 3, 0, 0)) == "....B. | ....B. | ....XX | ..A... | CCA... | ..A..."
    # What stands behind the red car does not block.
    assert board(["A.....", "A.....", "A.XX..", "......", "......", "......"]).heuristic((2, 0)) == 1


def test_vehicles_are_read_back_from_a_board() -> None:
    red, a, b, c = vehicles_of(SMALL)
    assert red == Vehicle("X", True, 2, 2, 0)
    assert a == Vehicle("A", False, 3, 0, 2)
    assert b == Vehicle("B", False, 2, 2, 4)
    assert c == Vehicle("C", True, 2, 4, 0)
    assert [(v.line, v.position) for v in (red, a, b, c)] == [(2, 0), (2, 0), (4, 2), (4, 0)]


@given(st.integers(1, 17), st.integers(0, 10**9))
@settings(max_examples=50, deadline=None)
def test_board_and_vehicles_are_the_same(count: int, seed: int) -> None:
    problem = drawn(count, seed)
    rows = problem.rows(problem.start)
    assert vehicles_of(rows) == problem.vehicles
    assert sum(row.count(".") for row in rows) == 36 - sum(v.length for v in problem.vehicles)


# The plain ways


def first_goal(problem: RushHourProblem) -> int | None:
    """Moves to the nearest goal, by breadth-first search that stops there."""
    seen: set[Positions] = {problem.start}
    level, depth = [problem.start], 0
    while level:
        if any(problem.is_goal(state) for state in level):
            return depth
        following = []
        for state in level:
            for after in problem.successors(state):
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        level, depth = following, depth + 1
    return None


class Plain:
    """Every state of a board by the plain rules, with distances, solvable or not."""

    def __init__(self, problem: RushHourProblem) -> None:
        self.states = [problem.start]
        number = {problem.start: 0}
        self.from_start = [0]
        self.arcs: list[list[int]] = []
        for state in self.states:
            row = []
            for after in problem.successors(state):
                if after not in number:
                    number[after] = len(self.states)
                    self.states.append(after)
                    self.from_start.append(self.from_start[len(self.arcs)] + 1)
                row.append(number[after])
            self.arcs.append(row)
        goals = [i for i, state in enumerate(self.states) if problem.is_goal(state)]
        self.to_goal = list(backward_distances(self.arcs, goals))


# Draws


def draws_by_the_rule(count: int, draws: Draws) -> list[tuple[str, bool, int, int, int]]:
    placed = [("X", True, 2, 2, draws.below(4))]
    taken = {(2, placed[0][4]), (2, placed[0][4] + 1)}
    for name in "ABCDEFGHIJKLMNOPQ"[:count]:
        for _ in range(50):
            horizontal = draws.random() < 0.5
            length = 3 if draws.random() < 0.25 else 2
            row = draws.below(6 if horizontal else 7 - length)
            column = draws.below(7 - length if horizontal else 6)
            cells = {(row, column + i) if horizontal else (row + i, column) for i in range(length)}
            if (horizontal and row == 2) or cells & taken:
                continue
            placed.append((name, horizontal, length, row, column))
            taken |= cells
            break
    return placed


@given(st.integers(1, 17), st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_boards_are_drawn_by_the_rule(count: int, seed: int) -> None:
    one, other = Draws("test", seed), Draws("test", seed)
    for _ in range(3):  # one board after the other from the same source
        vehicles = draw_vehicles(count, one)
        seen = [(v.name, v.horizontal, v.length, v.row, v.column) for v in vehicles]
        assert seen == draws_by_the_rule(count, other)
    assert one.random() == other.random()


def test_every_try_takes_four_draws_and_a_name_without_a_place_is_left_out() -> None:
    red = [0.3]  # column 1
    on_row_2 = [0.1, 0.9, 0.4, 0.9]  # horizontal, length 2, row 2
    over_red = [0.9, 0.1, 0.3, 0.2]  # vertical, length 3, row 1, column 1
    good = [0.9, 0.1, 0.9, 0.9]  # vertical, length 3, row 3, column 5
    script = red + (on_row_2 + over_red) * 25 + good + [0.5]
    draws = Scripted(script)
    assert draw_vehicles(2, draws) == (Vehicle("X", True, 2, 2, 1), Vehicle("B", False, 3, 3, 5))
    assert draws.random() == 0.5


def test_a_trial_is_the_first_board_that_is_hard_enough() -> None:
    domain = rush_hour(vehicles=8, min_moves=3)
    for trial in range(1, 13):
        draws = Draws("rush_hour", trial)
        while True:
            problem = RushHourProblem(draw_vehicles(8, draws))
            if (first_goal(problem) or 0) >= 3:
                break
        assert domain.draw(trial, Draws("rush_hour", trial)) == problem.rows(problem.start)
        assert domain.problem(trial).start == problem.start


# The kernel against the plain search


@given(st.integers(1, 8), st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_kernel_finds_all_states_and_their_distances(count: int, seed: int) -> None:
    problem = drawn(count, seed)
    plain = Plain(problem)
    lines = lines_of(problem.vehicles)
    if lines is None:  # proved without a search
        assert plain.to_goal[0] == UNREACHABLE
        with pytest.raises(DomainError, match="the red car cannot get out of"):
            space_of(problem)
        return
    states = join(lines)
    numbers = {tuple(row): i for i, row in enumerate(states.positions.T.tolist())}
    assert len(numbers) == states.size
    assert states.size >= len(plain.states)
    assert numbers[problem.start] == states.start
    distances = [sweep(states, [states.start]), sweep(states, states.solved())]
    reached = np.array([numbers[state] for state in plain.states])
    for found, true in zip(distances, (plain.from_start, plain.to_goal), strict=True):
        assert found[reached].tolist() == [FAR if d == UNREACHABLE else d for d in true]
    assert np.count_nonzero(distances[0] < FAR) == len(plain.states)


@given(st.integers(1, 6), st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_joined_states_are_all_that_fit_and_steps_move_one_cell(count: int, seed: int) -> None:
    problem = drawn(count, seed)
    lines = lines_of(problem.vehicles)
    if lines is None:
        return
    states = join(lines)
    found = [tuple(row) for row in states.positions.T.tolist()]
    number = {state: i for i, state in enumerate(found)}
    # By brute force over the places of the lines.
    expected = set()
    for places in product(*(range(len(line.places)) for line in lines)):
        masks = [line.masks[i] for line, i in zip(lines, places, strict=True)]
        if sum(masks) == np.bitwise_or.reduce(masks):
            state = [0] * len(problem.vehicles)
            for line, i in zip(lines, places, strict=True):
                for vehicle, position in zip(line.vehicles, line.places[i], strict=True):
                    state[vehicle] = position
            expected.add(tuple(state))
    assert len(found) == len(expected)
    assert set(found) == expected
    for i in range(0, states.size, 7):
        assert int(states.masks[i]).bit_count() == sum(v.length for v in problem.vehicles)
        for v in range(len(problem.vehicles)):
            for column, by in ((2 * v, -1), (2 * v + 1, 1)):
                moved = (*found[i][:v], found[i][v] + by, *found[i][v + 1 :])
                assert states.steps[column, i] == number.get(moved, states.size)


@given(st.integers(2, 7), st.integers(0, 10**9))
@settings(max_examples=25, deadline=None)
def test_every_place_that_moves_reach_is_found_for_its_line(count: int, seed: int) -> None:
    problem = drawn(count, seed)
    lines = lines_of(problem.vehicles)
    states = Plain(problem).states
    if lines is None:
        assert not any(problem.is_goal(state) for state in states)
        return
    assert sorted(v for line in lines for v in line.vehicles) == list(range(len(problem.vehicles)))
    for line in lines:
        assert line.places[line.start] == tuple(problem.start[v] for v in line.vehicles)
        reached = {tuple(state[v] for v in line.vehicles) for state in states}
        assert reached <= set(line.places)


def test_a_full_column_is_no_way_out_and_needs_no_search() -> None:
    assert lines_of(board(LOCKED).vehicles) is None
    # With a car less in the column the lorry can drop out of the row.
    assert lines_of(board([*LOCKED[:3], "......", "......", "......"]).vehicles) is not None


def test_space_is_that_of_the_rules() -> None:
    problem = board(SMALL)
    space, plain = space_of(problem), Plain(problem)
    assert space.shortest_path == 3
    assert space.states_reachable == space.states_reaching_goal == len(plain.states)
    number = {space.state(s): s for s in range(len(space.to_goal))}
    for i, state in enumerate(plain.states):
        s = number[state]
        assert [space.state(t) for t in space.successors(s)] == problem.successors(state)
        assert space.heuristic(s) == problem.heuristic(state)
        assert space.is_goal(s) is problem.is_goal(state)
        assert space.text(s) == problem.render(state)
        assert (space.to_goal[s], space.from_start[s]) == (plain.to_goal[i], plain.from_start[i])


# Which boards are kept


@given(st.integers(1, 9), st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_a_glance_and_a_short_search_are_right(count: int, seed: int) -> None:
    problem = drawn(count, seed)
    shortest = first_goal(problem)
    for moves in range(9):
        verdict = solvable_within(problem.vehicles, moves)
        assert verdict is None or verdict == (shortest is not None and shortest <= moves)
        if moves <= 5 and count <= 5:
            assert verdict is not None


def test_the_decision_on_120_official_boards_is_that_of_the_plain_search() -> None:
    draws = Draws("test", "boards")
    verdicts = []
    for _ in range(120):
        problem = RushHourProblem(draw_vehicles(10, draws))
        shortest = first_goal(problem)
        for least in (1, 2, 4, 6, 9):
            assert needs_moves(problem.vehicles, least) == (shortest is not None and shortest >= least)
        verdicts.append("none" if shortest is None else "easy" if shortest < 6 else "kept")
    assert min(verdicts.count(kind) for kind in ("none", "easy", "kept")) >= 5


def test_a_search_that_gives_up_changes_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains.navigation.rush_hour_easy, "MOST_EXPANDED", 0)
    problem = board(SEARCHED)
    assert (first_goal(problem), problem.heuristic(problem.start)) == (4, 3)
    assert solvable_within(problem.vehicles, 4) is None
    assert solvable_within(problem.vehicles, 3) is False
    assert [needs_moves(problem.vehicles, least) for least in (3, 4, 5)] == [True, True, False]


# Distances on disk


@given(st.integers(2, 8), st.integers(0, 10**9))
@settings(max_examples=20, deadline=None)
def test_packed_distances_make_the_same_space(count: int, seed: int) -> None:
    problem = drawn(count, seed)
    if first_goal(problem) is None:
        return
    space = space_of(problem)
    packed = pack(space)
    assert {array.dtype for array in packed.values()} == {np.dtype(np.uint8)}
    again = unpack(problem, packed)
    for name in (
        "start",
        "shortest_path",
        "states_reachable",
        "states_reaching_goal",
        "objective",
        "context",
    ):
        assert getattr(space, name) == getattr(again, name)
    assert list(space.to_goal) == list(again.to_goal)
    assert list(space.from_start) == list(again.from_start)
    for s in range(0, len(space.to_goal), 11):
        for name in ("state", "text", "heuristic", "is_goal", "successors"):
            assert getattr(space, name)(s) == getattr(again, name)(s)


def test_long_distances_are_packed_too() -> None:
    problem = board(SMALL)
    space = space_of(problem)
    size = len(space.to_goal)
    long = replace(space, to_goal=[300, UNREACHABLE] + [254] * (size - 2), from_start=[255] * size)
    again = unpack(problem, pack(long))
    assert list(again.to_goal) == list(long.to_goal)
    assert list(again.from_start) == list(long.from_start)


def test_distances_of_another_board_are_refused() -> None:
    packed = pack(space_of(board(SMALL)))
    for rows in (SEARCHED, LOCKED):
        with pytest.raises(DomainError, match="those of another board; delete them"):
            unpack(board(rows), packed)


# Bad input


def test_hopeless_min_moves_ends_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains.navigation.rush_hour, "MOST_BOARDS", 20)
    with pytest.raises(DomainError, match=r"trial 3: none of 20 boards of 2 vehicles .* min_moves 40"):
        rush_hour(vehicles=2, min_moves=40).draw(3, Draws("rush_hour", 3))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vehicles": 0}, "vehicles must be between 1 and 17, not 0"),
        ({"vehicles": 18}, "vehicles must be between 1 and 17, not 18"),
        ({"min_moves": 0}, "min_moves must be between 1 and 60, not 0"),
        ({"min_moves": 61}, "min_moves must be between 1 and 60, not 61"),
    ],
)
def test_parameters_out_of_range_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=f"domain rush_hour: {reason}"):
        rush_hour(**changes)
