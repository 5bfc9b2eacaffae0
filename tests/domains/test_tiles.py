"""tiles: exact counts, the renaming trick against plain sweeps, and bad parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.space import explore
from domains.navigation.tiles import GOAL, NEIGHBOURS, Board, Tiles, TilesProblem, manhattan, render, slides
from domains.navigation.tiles_kernel import BOARDS, board_of, distances_from, number_of, tables, tiles_space


def walk(board: Board, steps: list[int]) -> Board:
    for step in steps:
        ways = slides(board)
        board = ways[step % len(ways)]
    return board


# An odd number of slides as often as an even one; 40 slides reach every region of the space.
boards = st.lists(st.integers(0, 11), max_size=40).map(lambda steps: walk(GOAL, steps))


def test_successor_order_is_above_below_left_right() -> None:
    middle = (1, 2, 3, 4, 0, 5, 6, 7, 8)
    assert slides(middle) == (
        (1, 0, 3, 4, 2, 5, 6, 7, 8),
        (1, 2, 3, 4, 7, 5, 6, 0, 8),
        (1, 2, 3, 0, 4, 5, 6, 7, 8),
        (1, 2, 3, 4, 5, 0, 6, 7, 8),
    )
    assert slides(GOAL) == ((1, 2, 3, 4, 5, 0, 7, 8, 6), (1, 2, 3, 4, 5, 6, 7, 0, 8))


def test_exactly_181440_boards_are_numbered_without_holes() -> None:
    seen = {board_of(number) for number in range(BOARDS)}
    assert BOARDS == len(seen) == 181_440
    assert all(number_of(board_of(number)) == number for number in range(0, BOARDS, 97))


def test_distances_from_the_goal_are_those_known_of_the_8_puzzle() -> None:
    # How many boards need 0, 1, 2, ... slides: sequence A089473 of the OEIS (gap in a corner).
    distances = distances_from(GOAL).tolist()
    counts = [distances.count(d) for d in range(32)]
    assert counts[:16] == [1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512]
    assert counts[16:24] == [4485, 5638, 9529, 10878, 16993, 17110, 23952, 20224]
    assert counts[24:] == [24047, 15578, 14560, 6274, 3910, 760, 221, 2]
    assert sum(counts) == BOARDS


@pytest.mark.parametrize("gap", [0, 1, 4, 8])
def test_renamed_distances_equal_a_plain_search(gap: int) -> None:
    # A start that is no home board, so that the renaming does something.
    start = next(b for b in (board_of(n) for n in range(gap * 20_160 + 777, BOARDS)) if b[gap] == 0)
    distances = distances_from(start)
    level, frontier, seen = 0, [start], {start}
    while frontier:
        assert {int(distances[number_of(b)]) for b in frontier[:200]} == {level}
        following = []
        for board in frontier:
            for after in slides(board):
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        frontier, level = following, level + 1
        if level == 14:  # the rest is compared in bulk below
            break
    assert int((distances <= 13).sum()) == len(seen) - len(frontier)
    # Everywhere: 0 at the start only, and otherwise one more than the nearest neighbour's.
    arcs = tables().arcs
    around = distances[arcs].astype(int)
    around[arcs < 0] = 99
    expected = around.min(axis=1) + 1
    expected[number_of(start)] = 0
    assert (distances == expected).all()


@given(boards)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_numbers_moves_and_heuristic_of_any_board(board: Board) -> None:
    number = number_of(board)
    assert board_of(number) == board
    arcs = [int(n) for n in tables().arcs[number] if n >= 0]
    assert [board_of(n) for n in arcs] == list(slides(board))
    assert len(arcs) == len(NEIGHBOURS[board.index(0)])
    assert tables().manhattan[number] == manhattan(board)
    assert manhattan(board) <= distances_from(GOAL)[number]
    assert (manhattan(board) == 0) == (board == GOAL)


@given(boards)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_text_shows_the_whole_board(board: Board) -> None:
    rows = render(board).split(" | ")
    assert [row.count(" ") for row in rows] == [2, 2, 2]
    assert tuple(0 if c == "·" else int(c) for row in rows for c in row.split(" ")) == board


def test_shared_tables_cannot_be_written_through_a_space() -> None:
    space = tiles_space(TilesProblem((1, 2, 3, 4, 5, 6, 7, 0, 8)))
    with pytest.raises(TypeError):
        space.to_goal[0] = 0  # type: ignore[index]


@pytest.mark.parametrize("scramble", [1, 2, 3, 60])
def test_walks_never_step_straight_back_and_never_end_at_the_goal(scramble: int) -> None:
    domain = Tiles("manhattan", {"scramble": scramble})
    for trial in range(1, 30):
        start = tuple(domain.draw(trial, Draws("tiles", trial)))
        distance = int(distances_from(GOAL)[number_of(start)])
        assert 0 < distance <= scramble
        assert distance % 2 == scramble % 2
        if scramble <= 3:  # no cycle is that short
            assert distance == scramble


def test_a_walk_that_ends_at_the_goal_is_walked_again() -> None:
    # Three times round a square of four cells takes 12 slides and undoes itself: about one walk
    # in a thousand ends at the goal, so some of these trials need a second one.
    domain = Tiles("manhattan", {"scramble": 12})
    again = 0
    for trial in range(1, 3000):
        draws = CountedDraws("tiles", trial)
        assert tuple(domain.draw(trial, draws)) != GOAL
        again += draws.choices > 12
    assert again > 0


class CountedDraws(Draws):
    __slots__ = ("choices",)

    def __init__(self, *path: str | int) -> None:
        super().__init__(*path)
        self.choices = 0

    def choice(self, items: Sequence[Any]) -> Any:
        self.choices += 1
        return super().choice(items)


def test_kernel_and_plain_search_agree_on_the_last_board() -> None:
    problem = TilesProblem(board_of(int(distances_from(GOAL).argmax())))
    plain, kernel = explore(problem), tiles_space(problem)
    assert plain.shortest_path == kernel.shortest_path == 31
    assert plain.states_reachable == kernel.states_reachable == BOARDS


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"scramble": 0}, "scramble must be between 1 and"),
        ({"scramble": -3}, "scramble must be between 1 and"),
        ({"scramble": 10**9}, "scramble must be between 1 and"),
        ({"scramble": "12"}, "must be int, not str"),
        ({"scramble": True}, "must be int, not bool"),
        ({}, "needs the parameter 'scramble'"),
        ({"scramble": 12, "scrambles": 1}, "no parameter 'scrambles': did you mean scramble"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, object], said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        Tiles("manhattan", parameters)
    assert "tiles" in str(caught.value)


def test_unknown_heuristic_is_refused_with_the_known_one() -> None:
    with pytest.raises(SettingError, match="did you mean manhattan"):
        Tiles("manhatan", {"scramble": 12})
