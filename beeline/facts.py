"""Facts: what an agent can have learnt, in a form that does not depend on the interface.

A **fact** is one atomic statement about the hidden instance, a tuple whose first part names its
kind: ``("leg_time", "LEG-1A", "STN-2B", 31)``. A family's **normaliser** turns the executed calls
of an episode into facts. It is *joint* (a mediated fact appears when every record of its join was
seen), *monotone* (more calls never take a fact away), and ignores errors and the evaluator.

An **acquisition plan** is a list of calls that reveals enough to solve the instance; the
normaliser's output on it is a **sufficient set**. Sufficiency: some sufficient set was learnt
whole. Coverage: the greatest share of a sufficient set that was learnt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from beeline.digest import digest_of

__all__ = ["Call", "Executed", "Fact", "Facts", "Insufficient", "Plan", "coverage", "facts_digest"]

Fact: TypeAlias = tuple[Any, ...]
"""Strings, integers and tuples of them; the first part names the kind."""
Facts: TypeAlias = frozenset[Fact]


class Insufficient(Exception):
    """The facts do not determine the instance; the text names one that is missing."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Executed:
    """A fact-revealing call that was executed, with the response as the model got it."""

    tool: str
    arguments: Mapping[str, Any]
    response: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """An acquisition plan."""

    name: str
    calls: tuple[Call, ...]


def coverage(sufficient: Sequence[Facts], learnt: Facts) -> Fraction:
    """The greatest share of a sufficient set that was learnt: exactly 1 when information was
    sufficient. ``sufficient`` holds at least one non-empty set."""
    return max(Fraction(len(facts & learnt), len(facts)) for facts in sufficient)


def facts_digest(facts: Iterable[Fact]) -> str:
    """SHA-256 of a set of facts, whatever its order."""
    return digest_of(sorted(digest_of(fact) for fact in facts))
