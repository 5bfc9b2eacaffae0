"""blocksworld: one hand re-stacks blocks until every block stands where the goal wants it.

Facts are `(on x y)`, `(ontable x)`, `(clear x)`, `(holding x)` and `(handempty)`; a state is the
tuple of its facts, sorted. The four STRIPS actions are listed by :func:`actions`, and successors
follow that order. The goal places every block, so exactly one state is a goal.

This module is the plain form. :mod:`domains.navigation.blocksworld_kernel` numbers all states
and has the heuristic in closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.problem import Domain, Problem
from beeline.space import Space
from domains.navigation.blocksworld_texts import REPRESENTATIONS
from domains.navigation.strips import Action, h_ff

__all__ = ["MOST_BLOCKS", "Blocksworld", "BlocksworldProblem", "Facts", "Towers", "actions", "placed"]

Facts = tuple[str, ...]
Towers = list[list[str]]
"""Each tower from the bottom up."""

MOST_BLOCKS = 9
"""8,145,730 states, every one of them numbered; ten blocks have 104,906,621."""

TASK = (
    "Blocks world: blocks stand on a table or on each other in towers, and a hand that can hold one block "
    "moves them one at a time until they stand as wanted."
)
CONTEXT = (
    "A state is written as the facts that hold in it. (on x y): block x stands directly on block y. "
    "(ontable x): block x stands on the table. (clear x): nothing stands on block x and it is not held. "
    "(holding x): the hand holds block x. (handempty): the hand holds nothing. "
    "One move is one of these: with an empty hand, pick up a clear block from the table or take a clear "
    "block off the block under it; with a block in the hand, put it down on the table or stack it on a "
    "clear block. The table has room for every block."
)


@cache
def actions(blocks: int) -> tuple[Action, ...]:
    """All ground actions over b1, b2, ... in successor order: for each x pick-up, put-down, and
    then for each y other than x stack x y, unstack x y."""
    names = [f"b{i}" for i in range(1, blocks + 1)]
    ordered = []
    for x in names:
        on_table = (f"(ontable {x})", f"(clear {x})", "(handempty)")
        held = (f"(holding {x})",)
        ordered.append(Action(f"(pick-up {x})", frozenset(on_table), held, frozenset(on_table)))
        ordered.append(Action(f"(put-down {x})", frozenset(held), on_table, frozenset(held)))
        for y in names:
            if y != x:
                before = (f"(holding {x})", f"(clear {y})")
                after = (f"(on {x} {y})", f"(clear {x})", "(handempty)")
                ordered.append(Action(f"(stack {x} {y})", frozenset(before), after, frozenset(before)))
                ordered.append(Action(f"(unstack {x} {y})", frozenset(after), before, frozenset(after)))
    return tuple(ordered)


def placed(towers: Sequence[Sequence[str]]) -> Facts:
    """The on and ontable facts of towers, sorted."""
    return tuple(sorted(_placed(towers)))


def _placed(towers: Sequence[Sequence[str]]) -> Iterator[str]:
    for tower in towers:
        yield f"(ontable {tower[0]})"
        for below, above in pairwise(tower):
            yield f"(on {above} {below})"


class BlocksworldProblem(Problem[Facts]):
    """Start towers to be turned into goal towers."""

    context = CONTEXT

    def __init__(self, start: Sequence[Sequence[str]], goal: Sequence[Sequence[str]]) -> None:
        self.start_towers, self.goal_towers = start, goal
        self.blocks = sum(map(len, start))
        self.start = tuple(sorted({*placed(start), *(f"(clear {t[-1]})" for t in start), "(handempty)"}))
        self.goal = placed(goal)
        self.objective = f"Reach a state in which all of these facts hold: {' '.join(self.goal)}"

    def successors(self, state: Facts) -> list[Facts]:
        """The states after each action that may be taken, in the order of :func:`actions`."""
        facts = set(state)
        return [
            tuple(sorted(facts - action.deletes | set(action.adds)))
            for action in actions(self.blocks)
            if action.needs <= facts
        ]

    def is_goal(self, state: Facts) -> bool:
        """Whether every goal fact holds."""
        return set(self.goal).issubset(state)

    def heuristic(self, state: Facts) -> float:
        """:func:`domains.navigation.strips.h_ff`: 0 at the goal only."""
        return h_ff(state, self.goal, actions(self.blocks))

    def render(self, state: Facts) -> str:
        """The facts, sorted, with a space between."""
        return " ".join(state)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    blocks: int

    def __post_init__(self) -> None:
        if not 2 <= self.blocks <= MOST_BLOCKS:
            raise ValueError(
                f"blocks must be between 2 (one block has nothing to do) and {MOST_BLOCKS} "
                f"(8,145,730 states; ten blocks would have 104,906,621), not {self.blocks}"
            )


class Blocksworld(Domain):
    """The family of blocksworld trials."""

    name = "blocksworld"
    title = "Blocks world"
    task = TASK
    heuristics = ("h_ff",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> dict[str, Towers]:
        """Start towers, then goal towers until they differ from the start; towers bottom up."""
        names = [f"b{i}" for i in range(1, self.parameters.blocks + 1)]
        start = _draw_towers(names, draws)
        goal = _draw_towers(names, draws)
        while placed(goal) == placed(start):
            goal = _draw_towers(names, draws)
        return {"start": start, "goal": goal}

    def build(self, trial: int, instance: Any) -> BlocksworldProblem:
        """The problem of drawn towers."""
        return BlocksworldProblem(instance["start"], instance["goal"])

    def space(self, trial: int, instance: Any) -> Space:
        """All states from a graph that every trial with as many blocks shares."""
        from domains.navigation.blocksworld_kernel import blocksworld_space

        return blocksworld_space(self.build(trial, instance))


def _draw_towers(names: Sequence[str], draws: Draws) -> Towers:
    towers: Towers = []
    for name in draws.sample(names, len(names)):
        # No draw is made while there is no tower to put the block on.
        if towers and draws.random() < 0.5:
            draws.choice(towers).append(name)
        else:
            towers.append([name])
    return towers
