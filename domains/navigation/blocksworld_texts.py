"""blocksworld: other ways to write a state.

Facts as in version 1.0.0, a sentence a block, towers from the bottom up, and nested brackets. All
but facts leave out what follows from the rest: which blocks are clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.blocksworld import BlocksworldProblem, Facts

__all__ = ["REPRESENTATIONS"]

_FACT = re.compile(r"\((on|ontable|holding) (\S+?)(?: (\S+))?\)")

MOVES = (
    "One move is one of these: with an empty hand, take a block that no other block stands on, from the "
    "table or from the block under it; with a block in the hand, put it down on the table or on a block that "
    "no other block stands on. The table has room for every block."
)
ANY_ORDER = " The order of the towers means nothing."


def _read(facts: Iterable[str]) -> tuple[dict[str, str], str | None]:
    """What each standing block stands on (``""`` for the table), and the block in the hand."""
    under: dict[str, str] = {}
    held = None
    for kind, block, other in _FACT.findall(" ".join(facts)):
        if kind == "holding":
            held = block
        else:
            under[block] = other
    return under, held


def _number(block: str) -> int:
    return int(block[1:])


def _towers(under: dict[str, str]) -> list[list[str]]:
    """Towers from the bottom up, in the order of the numbers of their lowest blocks."""
    above = {below: block for block, below in under.items() if below}
    towers = []
    for lowest in sorted((block for block, below in under.items() if not below), key=_number):
        tower = [lowest]
        while tower[-1] in above:
            tower.append(above[tower[-1]])
        towers.append(tower)
    return towers


def _sentences(facts: Facts) -> str:
    under, held = _read(facts)
    return " ".join(
        f"Block {block} is in the hand."
        if block == held
        else f"Block {block} stands on {under[block] or 'the table'}."
        for block in sorted([*under, *([held] if held else [])], key=_number)
    )


def _in_towers(facts: Facts) -> str:
    under, _ = _read(facts)
    return " | ".join(" ".join(tower) for tower in _towers(under))


def _in_brackets(facts: Facts) -> str:
    under, _ = _read(facts)
    return " ".join("(".join(tower) + ")" * (len(tower) - 1) for tower in _towers(under))


def sentences(problem: BlocksworldProblem, state: Facts) -> str:
    """Where each block is, by number; then whether the hand is empty."""
    text = _sentences(state)
    return text if _read(state)[1] else f"{text} The hand is empty."


def towers(problem: BlocksworldProblem, state: Facts) -> str:
    """Towers from the bottom up, ``|`` between; then the hand."""
    return f"{_in_towers(state) or 'no tower'}; hand: {_read(state)[1] or 'empty'}"


def brackets(problem: BlocksworldProblem, state: Facts) -> str:
    """Each block followed by what stands on it, in brackets; then the hand."""
    return f"{_in_brackets(state)} hand[{_read(state)[1] or ''}]".strip()


REPRESENTATIONS = (
    problems_own("facts"),
    Representation(
        "sentences",
        sentences,
        lambda problem: f"Reach the state in which all of this is so: {_sentences(problem.goal)}",
        lambda problem: (
            "A state is written as one sentence for each block, which says where the block is: directly on "
            "another block, on the table, or in the hand. " + MOVES
        ),
    ),
    Representation(
        "towers",
        towers,
        lambda problem: f"Reach the state with exactly these towers: {_in_towers(problem.goal)}",
        lambda problem: (
            "A state is written as its towers with | between them, each from its lowest block, which stands "
            "on the table, up to its highest, and then what the hand holds. " + MOVES + ANY_ORDER
        ),
    ),
    Representation(
        "brackets",
        brackets,
        lambda problem: f"Reach the state with exactly these towers: {_in_brackets(problem.goal)}",
        lambda problem: (
            "A state names the blocks that stand on the table; the round brackets behind a block hold the "
            "block that stands directly on it, so b1(b2(b3)) is b1 on the table, b2 on b1 and b3 on b2. "
            "hand[b4] is a hand that holds b4, hand[] an empty one. " + MOVES + ANY_ORDER
        ),
    ),
)
