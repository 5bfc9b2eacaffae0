"""STRIPS actions and the FF heuristic over h_add, in the plain form that defines them.

A state is a set of facts (texts). An action may be taken when the state holds all facts it
needs; it then adds some and deletes some. :func:`h_ff` ignores the deletions (the *relaxed*
problem), prices each fact by h_add, takes for each fact the action that made it cheapest, and
counts the different actions that the goal then needs (Hoffmann and Nebel 2001; h_add by Bonet
and Geffner 2001). Ties decide which action that is, so their order is part of the definition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

__all__ = ["Action", "h_ff"]


@dataclass(frozen=True, slots=True)
class Action:
    """One ground action."""

    name: str
    needs: frozenset[str]
    adds: tuple[str, ...]
    deletes: frozenset[str]


def h_ff(state: Iterable[str], goal: Iterable[str], actions: Sequence[Action]) -> float:
    """The number of different actions in a relaxed plan from ``state`` to all of ``goal``.

    Facts of the state cost 0. Facts are settled in order of (cost, text). When the last fact
    that an action needs is settled, the action costs 1 + the sum of the costs of its needs, and
    each fact it adds takes it as achiever if that is strictly cheaper than what it had; actions
    that become ready at the same fact are tried in the order of ``actions``. Infinite when the
    goal is out of reach, 0 exactly when the state holds the goal.
    """
    goal = frozenset(goal)
    cost: dict[str, float] = dict.fromkeys(state, 0)
    achiever: dict[str, Action] = {}
    users: dict[str, list[Action]] = {}
    for action in actions:
        for fact in action.needs:
            users.setdefault(fact, []).append(action)
    waiting = {action.name: len(action.needs) for action in actions}

    queue: list[tuple[float, str]] = sorted((0, fact) for fact in cost)
    settled: set[str] = set()
    while queue and not goal <= settled:
        _, fact = heappop(queue)
        if fact in settled:
            continue
        settled.add(fact)
        for action in users.get(fact, ()):
            waiting[action.name] -= 1
            if waiting[action.name]:
                continue
            price = 1 + sum(cost[need] for need in action.needs)
            for added in action.adds:
                if price < cost.get(added, math.inf):
                    cost[added] = price
                    achiever[added] = action
                    heappush(queue, (price, added))
    if not goal <= settled:
        return math.inf

    plan: set[str] = set()
    wanted = list(goal)
    while wanted:
        action_or_none = achiever.get(wanted.pop())
        if action_or_none is not None and action_or_none.name not in plan:
            plan.add(action_or_none.name)
            wanted.extend(action_or_none.needs)
    return len(plan)
