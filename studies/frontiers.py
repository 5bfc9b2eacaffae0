"""Single questions about frontiers that no model chose: the same for every model, with exact truth.

The heuristic and the random arm of a trial are searched again, as they always are. Of the steps at
which some frontier states are nearest to the goal and some are not, a few an arm are drawn from
draws (domain, trial, "single", arm). About each frontier up to four questions are asked; what is
drawn for them comes from draws (domain, trial, "single", arm, step, name of the question):

* ``best``, a choice: the version's own question, all options in one shuffled order;
* ``optimal``, a noul: is this one state, by a fair coin a nearest one or not, among the nearest?
* ``reach``, a noul: can the goal be reached from this one? A fair coin says whether it can; only
  where the frontier holds both kinds;
* ``moves``, a score: how many moves are left from this one, in at most ten ranges?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from beeline.draws import Draws
from beeline.question import YES_NO, Kind, Question
from beeline.search import Frontier, search
from beeline.space import UNREACHABLE, Space
from beeline.worker import DomainPlan
from studies.asking import Item
from studies.trials import texts_of

__all__ = ["ABOUT", "Met", "frontiers", "levels", "questions"]

ABOUT: dict[str, Kind] = {"best": "choice", "optimal": "noul", "reach": "noul", "moves": "score"}
"""The questions by name, and their kinds."""
LEVELS = 10
"""As many as every host takes."""

_ASK = {
    "optimal": "Does the position belong to those in the list from which the goal can be reached in the "
    "fewest moves?",
    "reach": "Can the goal be reached from the position by moves that the rules allow?",
    "moves": "How many moves does it take at least to reach the goal from the position?",
}


@dataclass(frozen=True, slots=True)
class Met:
    """A frontier that an arm met, in the order found; ``step`` counts its unforced steps from 1."""

    arm: str
    step: int
    states: tuple[int, ...]


def frontiers(plan: DomainPlan, space: Space, trial: int, count: int) -> list[Met]:
    """Up to ``count`` frontiers of each arm, by arm and step."""
    below = Draws(plan.name, trial, "random").below
    arms: tuple[tuple[str, str, Callable[[int], Any], Callable[[Frontier], int]], ...] = (
        ("heuristic", "classic", space.heuristic, lambda f: f.keys.index(min(f.keys))),
        ("random", "random", lambda state: None, lambda f: below(len(f.states))),
    )
    found = []
    for arm, evict, key, choose in arms:
        met: list[Met] = []
        steps = search(space, plan.limits, Draws(plan.name, trial, "evict", evict), key)
        step = 0
        try:
            frontier = next(steps)
            while True:
                step += 1
                distances = set(map(space.to_goal.__getitem__, frontier.states))
                # Some state reaches the goal, and not all are equally near.
                if len(distances) > 1:
                    met.append(Met(arm, step, tuple(frontier.states)))
                frontier = steps.send(choose(frontier))
        except StopIteration:
            pass
        draws = Draws(plan.name, trial, "single", arm)
        found += sorted(draws.sample(met, min(count, len(met))), key=lambda m: m.step)
    return found


def levels(most: int) -> list[tuple[int, int]]:
    """Ranges of moves from 0 to at least ``most``, both ends included, of one width, at most LEVELS.

    >>> levels(3)
    [(0, 0), (1, 1), (2, 2), (3, 3)]
    >>> levels(31)[-1]
    (28, 31)
    """
    width = -(-(most + 1) // LEVELS)
    return [(low, low + width - 1) for low in range(0, most + 1, width)]


def questions(
    plan: DomainPlan, space: Space, trial: int, met: Sequence[Met], kinds: Sequence[str]
) -> list[Item]:
    """The questions about frontiers of one trial, of these kinds; equal ones are asked once."""
    writer = _Writer(plan, space, trial)
    found: dict[str, Item] = {}
    for one in met:
        for about, kind in ABOUT.items():
            if kind in kinds:
                item = writer.item(one, about)
                if item is not None:
                    found.setdefault(item.digest, item)
    return list(found.values())


class _Writer:
    """Writes the questions of one trial."""

    def __init__(self, plan: DomainPlan, space: Space, trial: int) -> None:
        self.plan, self.space, self.trial = plan, space, trial
        self.task, self.goal, self.context, self.instructions = texts_of(plan, space)
        to_goal = np.asarray(space.to_goal)
        self.levels = levels(int(to_goal[to_goal < UNREACHABLE].max()))

    def item(self, met: Met, about: str) -> Item | None:
        """One question; None where the frontier does not lend itself to it."""
        space, to_goal = self.space, self.space.to_goal
        least = min(to_goal[s] for s in met.states)
        # One shuffle a frontier, so that the list in a noul is the order of the choice.
        shown = list(met.states)
        self._draws(met, "order").shuffle(shown)
        facts: dict[str, Any] = {
            "about": about,
            "arm": met.arm,
            "step": met.step,
            "frontier": len(met.states),
        }
        if about == "best":
            right = [i for i, state in enumerate(shown) if to_goal[state] == least]
            options = tuple(space.text(s) for s in shown)
            question = Question(self.task, self.goal, self.context, self.instructions, options)
            return Item(question, facts | {"right": right})
        draws = self._draws(met, about)
        alive = [s for s in met.states if to_goal[s] != UNREACHABLE]
        if about == "moves":
            state = draws.choice(alive)
            truth = next(i for i, (_, high) in enumerate(self.levels) if to_goal[state] <= high)
            options = tuple(_range(low, high) for low, high in self.levels)
            more = {"truth": truth, "moves": to_goal[state], "ranges": [list(r) for r in self.levels]}
            return Item(self._about(state, about, "", options, "score"), facts | more)
        yes = alive if about == "reach" else [s for s in alive if to_goal[s] == least]
        no = [s for s in met.states if s not in set(yes)]
        if not yes or not no:
            return None
        truth = int(draws.random() < 0.5)
        state = draws.choice(yes if truth else no)
        listed = ""
        if about == "optimal":
            listed = "\n\nThe list:\n" + "\n".join(f"- {space.text(s)}" for s in shown)
        return Item(self._about(state, about, listed, YES_NO, "noul"), facts | {"truth": truth})

    def _draws(self, met: Met, name: str) -> Draws:
        return Draws(self.plan.name, self.trial, "single", met.arm, met.step, name)

    def _about(self, state: int, about: str, listed: str, options: tuple[str, ...], kind: Kind) -> Question:
        context = f"{self.context}{listed}\n\nThe position: {self.space.text(state)}"
        return Question(self.task, self.goal, context, _ASK[about], options, kind)


def _range(low: int, high: int) -> str:
    if low == high:
        return f"{low} move" if low == 1 else f"{low} moves"
    return f"{low} to {high} moves"
