"""keys_doors: walk a building of locked rooms, fetching keys, until the exit is reached.

The rooms form a tree. Each but the start lies behind one door, and room and door share a colour;
the door's key lies in some other room, where it is picked up on entering and kept. A move goes
back through the door one came by, or through a door of this room that was opened before or whose
key is held. A door that was opened stays open, so the set of rooms entered only grows and moves
cannot be undone.

Trials with a short solution are drawn again: :mod:`domains.navigation.keys_doors_layout` draws the
building and decides. The space is small (about 200 states), so the generic exhaustive search
of :func:`beeline.space.explore` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.problem import Domain, Problem
from domains.navigation.keys_doors_layout import COLOURS, START, draw_layout, solvable_within
from domains.navigation.keys_doors_texts import REPRESENTATIONS

__all__ = ["KeysDoors", "KeysDoorsProblem", "State", "statements"]

MOST_LAYOUTS = 100_000
"""Buildings thrown away before the parameters are called hopeless; 1.0.0 draws 10 for each it keeps."""

TASK = (
    "Keys and doors: someone walks through a building of rooms behind locked doors, picking up keys on the "
    "way, and wants to get into the room behind the exit door."
)
RULES = (
    "Each room but the start lies behind one door of its own colour and is called by that colour. A key "
    "opens the door of its colour; all keys in a room are picked up on entering it, and kept. One move "
    "goes through one door: back through the door by which this room is reached, or on through a door in "
    "this room that is open already or whose key is held; it then stays open. An option names the room "
    "one is in, the keys held and the doors open."
)


class State(NamedTuple):
    """Where one is and has been."""

    room: str
    """``start`` or a door's colour."""
    entered: frozenset[str]
    """Rooms entered so far, ``start`` and this one included; their doors are open."""


def statements(
    doors: Sequence[tuple[str, str]], keys: Sequence[tuple[str, str]], exit_door: str
) -> tuple[str, ...]:
    """The facts of a building, one sentence each: where each door is, where each key is, and which
    door the exit is behind. ``doors`` and ``keys`` are pairs of a colour and a room.

    >>> for statement in statements([("red", "start")], [("red", "start")], "red"):
    ...     print(statement)
    The red door is in the start room.
    The red key is in the start room.
    The exit is behind the red door.
    """
    return (
        *(f"The {door} door is in the {room} room." for door, room in doors),
        *(f"The {key} key is in the {room} room." for key, room in keys),
        f"The exit is behind the {exit_door} door.",
    )


class KeysDoorsProblem(Problem[State]):
    """One building.

    ``doors`` and ``keys`` are pairs of a colour and the room that the door leads on from, or that
    the key lies in; doors in door order, keys in the order they were placed. ``order`` says which
    of the :func:`statements` is told first, second...
    """

    def __init__(
        self,
        doors: Sequence[tuple[str, str]],
        keys: Sequence[tuple[str, str]],
        exit_door: str,
        order: Sequence[int],
    ) -> None:
        self.start = State(START, frozenset((START,)))
        self.exit = exit_door
        self.order = tuple(order)
        self.colours = tuple(door for door, _ in doors)
        self.parent = dict(doors)
        self.key_room = dict(keys)
        self.doors_of = {
            room: tuple(door for door, parent in doors if parent == room) for room in (START, *self.colours)
        }
        """The doors that lead on from each room, in door order."""
        self.way = []
        """The doors between the start and the exit, the exit's first."""
        room = exit_door
        while room != START:
            self.way.append(room)
            room = self.parent[room]
        facts = statements(doors, keys, exit_door)
        self.objective = f"Be in the {exit_door} room"
        self.context = " ".join([RULES, *(facts[i] for i in order)])

    def successors(self, state: State) -> list[State]:
        """Back first (unless at the start), then each door of this room, in door order, that was
        entered before or whose key lies in an entered room."""
        room, entered = state
        after = [] if room == START else [State(self.parent[room], entered)]
        for door in self.doors_of[room]:
            if door in entered:
                after.append(State(door, entered))
            elif self.key_room[door] in entered:
                after.append(State(door, entered | {door}))
        return after

    def is_goal(self, state: State) -> bool:
        """Whether one is in the exit room."""
        return state.room == self.exit

    def heuristic(self, state: State) -> int:
        """``locked_doors``: closed doors between the start and the exit, and as many again as
        there are of these whose key is not held."""
        entered, key_room = state.entered, self.key_room
        return sum([1 + (key_room[door] not in entered) for door in self.way if door not in entered])

    def render(self, state: State) -> str:
        """The option text: room, keys held, doors open, both in door order."""
        entered, key_room = state.entered, self.key_room
        held = " ".join([key for key in self.colours if key_room[key] in entered])
        opened = " ".join([door for door in self.colours if door in entered])
        return f"in {state.room}; keys {held or 'none'}; open {opened or 'none'}"


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    doors: int
    """Rooms beside the start."""
    min_moves: int
    """Buildings that can be solved in fewer moves are drawn again."""

    def __post_init__(self) -> None:
        if not 1 <= self.doors <= len(COLOURS):
            raise ValueError(f"doors must be between 1 and {len(COLOURS)} (the colours), not {self.doors}")
        # Between two first entries lies a walk in the tree, of no more than ``doors`` moves.
        if not 0 <= self.min_moves <= self.doors**2:
            raise ValueError(
                f"min_moves must be between 0 and {self.doors**2} ({self.doors} doors never need more), "
                f"not {self.min_moves}"
            )


class KeysDoors(Domain):
    """The family of buildings."""

    name = "keys_doors"
    title = "Keys and doors"
    task = TASK
    heuristics = ("locked_doors",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> dict[str, Any]:
        """Draw buildings until one needs ``min_moves`` or more; then shuffle the statements, from
        draws of their own.

        Returns ``{"doors": [[colour, room], ...], "keys": [[colour, room], ...], "exit": colour,
        "statements": [...]}``, the last a permutation of the indices of :func:`statements`.
        Raises DomainError when 100,000 buildings were too easy.
        """
        doors, min_moves = self.parameters.doors, self.parameters.min_moves
        for _ in range(MOST_LAYOUTS):
            layout = draw_layout(doors, draws)
            if not solvable_within(layout, min_moves - 1):
                break
        else:
            raise DomainError(
                f"keys_doors, trial {trial}: each of {MOST_LAYOUTS} buildings of {doors} doors can be solved "
                f"in fewer than min_moves {min_moves} moves; lower min_moves"
            )
        order = list(range(2 * doors + 1))
        Draws(self.name, trial, "statements").shuffle(order)
        rooms = (START, *layout.colours)
        return {
            "doors": [[rooms[door], rooms[layout.parent[door]]] for door in range(1, doors + 1)],
            "keys": [[rooms[door], rooms[layout.key_room[door]]] for door in layout.placed],
            "exit": rooms[layout.exit],
            "statements": order,
        }

    def build(self, trial: int, instance: Any) -> KeysDoorsProblem:
        """The problem of a drawn building."""
        return KeysDoorsProblem(
            [(door, room) for door, room in instance["doors"]],
            [(key, room) for key, room in instance["keys"]],
            instance["exit"],
            instance["statements"],
        )
