"""Ways to write the states of a domain, so that a model's score can be seen to depend on them or not.

The first representation of a domain is the one of version 1.0.0. Each gives the option texts and
rewrites goal and rules to match; the problem itself stays the same. All of a domain say the same:
the state can be read back from its text, so that what a score changes by is the writing alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from beeline.errors import SettingError, nearest
from beeline.problem import Domain, Problem
from beeline.space import Space, cached

__all__ = ["Representation", "find_representation", "problems_own", "represent"]


@dataclass(frozen=True, slots=True)
class Representation:
    """One way to write a state. The functions are given the problem of the trial."""

    name: str
    render: Callable[[Any, Any], str]
    """(problem, state) -> option text; two states of one trial never share it."""
    objective: Callable[[Any], str]
    context: Callable[[Any], str]
    task: str | None = None
    """None for the domain's own."""


def problems_own(name: str) -> Representation:
    """What the problem itself writes, under a name: the first of a domain."""
    return Representation(
        name,
        render=lambda problem, state: str(problem.render(state)),
        objective=lambda problem: str(problem.objective),
        context=lambda problem: str(problem.context),
    )


def find_representation(domain: Domain, name: str | None) -> Representation | None:
    """The representation of that name; None for the domain's first, which the problem itself
    writes. Raises SettingError for an unknown name."""
    known = {r.name: r for r in domain.representations}
    if name is None or (domain.representations and name == domain.representations[0].name):
        return None
    if name not in known:
        raise SettingError(f"domain {domain.name} has no representation {name!r}: {nearest(name, known)}")
    return known[name]


def represent(space: Space, problem: Problem[Any], representation: Representation) -> Space:
    """The same space, written another way."""
    state = space.state
    return replace(
        space,
        text=cached(lambda s: representation.render(problem, state(s))),
        objective=representation.objective(problem),
        context=representation.context(problem),
    )
