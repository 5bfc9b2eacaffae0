"""tiles by tables that all trials of a process share.

A board is numbered ``gap cell * 20160 + half the rank of its tile order``, where the tile order
is the eight tiles read row by row without the gap. The boards that can be solved are those whose
tile order is an even permutation, and ranks 2k and 2k + 1 differ in the order of the last two
tiles, so exactly one of the two is even: numbers run over 0..181439 without holes. Sliding a
tile sideways does not change the tile order; sliding it down or up moves one tile two places on
or back.

Distances from a start need no search of their own. Renaming the tiles changes no distance, so
with a renaming that turns the start into the board with the same gap and tiles 1..8 in reading
order, its distances are those of one of nine *home* boards, read through the renaming. Renaming
leaves the gap where it is and acts on tile orders alone: first four and last four tiles by one
small table each: 0.4 ms a trial, where a breadth-first sweep in numpy takes 9 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beeline.space import Space, cached
from domains.navigation.tiles import GOAL, NEIGHBOURS, Board, TilesProblem, render

__all__ = ["BOARDS", "distances_from", "number_of", "tables", "tiles_space"]

Numbers = NDArray[np.int32]

ORDERS = 20_160
"""Even orders of eight tiles: 8! / 2."""
BOARDS = 9 * ORDERS


def permutations(n: int) -> NDArray[np.uint8]:
    """All orders of 0..n-1, one a row, in lexicographic order; shape (n!, n)."""
    rows = np.zeros((1, 0), np.uint8)
    for size in range(1, n + 1):
        longer = np.empty((size, len(rows), size), np.uint8)
        for first in range(size):
            longer[first, :, 0] = first
            longer[first, :, 1:] = rows + (rows >= first)
        rows = longer.reshape(-1, size)
    return rows


def ranks(rows: NDArray[Any]) -> Numbers:
    """The lexicographic rank of each row among all orders of its items (Lehmer code): how many
    later items are smaller, as digits of the factorial number system. Items need only differ."""
    size = rows.shape[1]
    rank = np.zeros(len(rows), np.int32)
    for place in range(size - 1):
        smaller = (rows[:, place + 1 :] < rows[:, place : place + 1]).sum(axis=1, dtype=np.int32)
        rank = (rank + smaller) * (size - 1 - place)
    return rank


@dataclass(frozen=True, slots=True)
class Tables:
    """What the trials share. Memory: 4.6 MiB, and 0.2 MiB for each home board used."""

    orders: bytes
    """Tiles of order k at 8k..8k+7."""
    arcs: Numbers
    """(BOARDS, 4): successors in the domain's order, then -1 where there are fewer."""
    firsts: NDArray[np.uint8]
    """(1680, 4): the different first four tiles of an order; order k has row k // 12."""
    lasts: NDArray[np.uint8]
    """(1680, 4): the different last four tiles of an order."""
    last_of: NDArray[np.int16]
    """Row of ``lasts`` for each order."""
    manhattan: bytes
    """The heuristic of each board."""


@cache
def tables() -> Tables:
    """Build the shared tables (once a process, about 0.1 s)."""
    tiles = permutations(8) + np.uint8(1)
    inversions = sum((tiles[:, i] > tiles[:, j]).astype(np.uint8) for i in range(8) for j in range(i + 1, 8))
    orders = tiles[inversions % 2 == 0]

    # on[j]: the order after the tile at place j has moved two places on; back is its inverse.
    on, back = [], []
    for j in range(6):
        moved = orders.copy()
        moved[:, j], moved[:, j + 1], moved[:, j + 2] = orders[:, j + 1], orders[:, j + 2], orders[:, j]
        on.append(ranks(moved) // 2)
        back.append(np.empty(ORDERS, np.int32))
        back[j][on[j]] = np.arange(ORDERS, dtype=np.int32)

    arcs = np.full((9, ORDERS, 4), -1, np.int32)
    same = np.arange(ORDERS, dtype=np.int32)
    for gap, cells in enumerate(NEIGHBOURS):
        for place, cell in enumerate(cells):
            if cell == gap - 3:  # the tile above comes down, past the two tiles between
                after = on[cell]
            elif cell == gap + 3:
                after = back[gap]
            else:
                after = same
            arcs[gap, :, place] = cell * ORDERS + after

    manhattan = np.zeros((9, ORDERS), np.uint8)
    for gap in range(9):
        for place, cell in enumerate(c for c in range(9) if c != gap):
            home = orders[:, place].astype(np.int8) - 1
            manhattan[gap] += (abs(cell // 3 - home // 3) + abs(cell % 3 - home % 3)).astype(np.uint8)

    # Tiles are at most 8, so nine digits keep the four tiles of a row apart and in order.
    lasts, last_of = np.unique(orders[:, 4:].astype(np.int32) @ (9 ** np.arange(4)), return_inverse=True)
    return Tables(
        orders.tobytes(),
        arcs.reshape(BOARDS, 4),
        np.ascontiguousarray(orders[::12, :4]),
        (lasts[:, None] // 9 ** np.arange(4) % 9).astype(np.uint8),
        last_of.astype(np.int16),
        manhattan.tobytes(),
    )


def number_of(board: Board) -> int:
    """The number of a board that can be solved."""
    order = np.array([[tile for tile in board if tile]], np.uint8)
    return board.index(0) * ORDERS + int(ranks(order)[0]) // 2


def board_of(number: int) -> Board:
    """The board with that number."""
    gap, order = divmod(number, ORDERS)
    tiles = tables().orders[8 * order : 8 * order + 8]
    return (*tiles[:gap], 0, *tiles[gap:])


@cache
def from_home(gap: int) -> NDArray[np.uint8]:
    """Fewest moves from the board with tiles 1..8 in reading order and this gap cell to every
    board (a breadth-first sweep, level by level); moves can be undone, so also back."""
    arcs = tables().arcs
    unseen = 255
    distance = np.full(BOARDS + 1, unseen, np.uint8)
    distance[-1] = 0  # where the -1 of a short row leads
    first_to = np.empty(BOARDS, np.int32)
    frontier = np.array([gap * ORDERS])
    level = 0
    while len(frontier):
        distance[frontier] = level
        level += 1
        after = arcs[frontier].ravel()
        after = after[distance[after] == unseen]
        order = np.arange(len(after), dtype=np.int32)
        first_to[after] = order  # of a board reached twice one copy stays
        frontier = after[first_to[after] == order]
    return distance[:-1].reshape(9, ORDERS)


def distances_from(board: Board) -> NDArray[np.uint8]:
    """Fewest moves between this board and every board, by number; shape (BOARDS,), at most 31."""
    shared = tables()
    name = np.zeros(9, np.uint8)
    name[[tile for tile in board if tile]] = np.arange(1, 9)
    # The rank of an order is 24 * that of its first four among all choices + that of its last four.
    first = ranks_of_choices(name[shared.firsts])
    last = ranks(name[shared.lasts])
    renamed = (first.repeat(12) * 24 + last[shared.last_of]) // 2
    return from_home(board.index(0)).take(renamed, axis=1).ravel()


def ranks_of_choices(rows: NDArray[np.uint8]) -> Numbers:
    """The lexicographic rank of each row of four of the tiles 1..8 among all 1,680 such rows."""
    rank = np.zeros(len(rows), np.int32)
    for place in range(4):
        earlier_smaller = (rows[:, :place] < rows[:, place : place + 1]).sum(axis=1, dtype=np.int32)
        rank = rank * (8 - place) + rows[:, place] - 1 - earlier_smaller
    return rank


@cache
def _goal_distances() -> memoryview:
    return distances_from(GOAL).data.toreadonly()


@cache
def _successors() -> Callable[[int], list[int]]:
    arcs = tables().arcs.reshape(-1).data
    degree = tuple(len(cells) for cells in NEIGHBOURS)
    # Not remembered: a search expands a state once, and a slice takes 0.2 microseconds.
    return lambda s: arcs[4 * s : 4 * s + degree[s // ORDERS]].tolist()


def tiles_space(problem: TilesProblem) -> Space:
    """The space of a trial; all but the distances from its start is shared by all trials."""
    start = number_of(problem.start)
    to_goal = _goal_distances()
    return Space(
        start=start,
        shortest_path=to_goal[start],
        states_reachable=BOARDS,
        states_reaching_goal=BOARDS,
        to_goal=to_goal,
        from_start=distances_from(problem.start).data,
        successors=_successors(),
        is_goal=number_of(GOAL).__eq__,
        heuristic=tables().manhattan.__getitem__,
        text=cached(lambda s: render(board_of(s))),
        state=board_of,
        objective=problem.objective,
        context=problem.context,
    )
