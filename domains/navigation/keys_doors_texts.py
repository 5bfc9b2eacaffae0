"""keys_doors: other ways to write where one is, and the building.

Compact as in version 1.0.0, whole sentences, and fields with lists. Each tells the facts of the
building in the trial's own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.keys_doors import KeysDoorsProblem, State

__all__ = ["REPRESENTATIONS"]

MOVES = (
    "A key opens the door of its colour; all keys in a room are picked up on entering it, and kept. One move "
    "goes through one door: back through the door by which this room is reached, or on through a door in "
    "this room that is open already or whose key is held; it then stays open."
)
ROOMS = "Each room but the start lies behind one door of its own colour and is called by that colour."


def _held(problem: KeysDoorsProblem, state: State) -> list[str]:
    return [key for key in problem.colours if problem.key_room[key] in state.entered]


def _open(problem: KeysDoorsProblem, state: State) -> list[str]:
    return [door for door in problem.colours if door in state.entered]


def _listed(colours: Sequence[str], noun: str) -> str:
    """'no keys', 'the red key', 'the red and blue keys', 'the red, blue and pink keys'."""
    if not colours:
        return f"no {noun}s"
    if len(colours) == 1:
        return f"the {colours[0]} {noun}"
    return f"the {', '.join(colours[:-1])} and {colours[-1]} {noun}s"


def sentences(problem: KeysDoorsProblem, state: State) -> str:
    """What one would say."""
    held, opened = _listed(_held(problem, state), "key"), _listed(_open(problem, state), "door")
    return f"You are in the {state.room} room. You hold {held}. You have opened {opened}."


def fields(problem: KeysDoorsProblem, state: State) -> str:
    """Names and values."""
    held, opened = ", ".join(_held(problem, state)), ", ".join(_open(problem, state))
    return f"room={state.room} keys=[{held}] open=[{opened}]"


def sentence_context(problem: KeysDoorsProblem) -> str:
    """Rules, then who finds what where."""
    facts = [
        *(f"From the {room} room, the {door} door leads on." for door, room in problem.parent.items()),
        *(f"In the {room} room lies the {key} key." for key, room in problem.key_room.items()),
        f"Behind the {problem.exit} door is the exit.",
    ]
    return " ".join(
        [
            f"You begin in the start room. {ROOMS} {MOVES} An option says which room you are in, which keys "
            "you hold and which doors you have opened.",
            *(facts[i] for i in problem.order),
        ]
    )


def field_context(problem: KeysDoorsProblem) -> str:
    """Rules, then door, key and exit as fields."""
    facts = [
        *(f"door[{door}]={room}" for door, room in problem.parent.items()),
        *(f"key[{key}]={room}" for key, room in problem.key_room.items()),
        f"exit={problem.exit}",
    ]
    return (
        f"{ROOMS} {MOVES} An option gives the room one is in, the keys held and the doors open. Of the "
        "building, door[colour]=room says which room that door leads on from, key[colour]=room which room "
        f"that key lies in, and exit=colour which door the exit is behind: "
        f"{'; '.join(facts[i] for i in problem.order)}."
    )


REPRESENTATIONS = (
    problems_own("compact"),
    Representation(
        "sentences",
        sentences,
        lambda problem: f"You want to be in the {problem.exit} room, whatever you hold and have opened",
        sentence_context,
    ),
    Representation(
        "fields",
        fields,
        lambda problem: f"Reach a state with room={problem.exit}",
        field_context,
    ),
)
