"""The contract of the worlds suite, part 1: what one world shows, asks and checks.

A **hidden instance** is one optimisation problem of a family; it is never shown. A **world** is a
hidden instance behind one of two tool interfaces: *direct* tells relations as rows, *mediated*
tells some of them through a connector that must be joined. Question, tools, costs, budget, optimum
and reference decision of the pair are equal.

A world offers **information tools** at a cost a call, one of which is the **candidate evaluator**
(one decision, once), and one free, binding, terminal **final-decision tool**. All numbers are
Python integers of any size and never pass through a float.

The other parts: :mod:`beeline.world_domain` (a family), :mod:`beeline.facts` (what was learnt),
:mod:`beeline.episode` (the rules of play), :mod:`beeline.world_score` (what it was worth).
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from beeline.errors import SettingError

__all__ = [
    "BANDS",
    "INDEXES",
    "LEVELS",
    "TRIALS",
    "Argument",
    "Container",
    "Coordinate",
    "Interface",
    "Presentation",
    "Sense",
    "Tool",
    "ToolError",
    "Verdict",
    "World",
    "compact",
    "coordinates",
    "parse_world_id",
]

SUITE = "worlds"
LEVELS = ("L1", "L2", "L3", "L4")
INDEXES = (1, 2, 3)
BANDS: Mapping[str, tuple[int, int]] = {
    "L1": (2**15, 2**17),
    "L2": (2**19, 2**21),
    "L3": (2**22, 2**24),
    "L4": (2**24 + 1, 2**26),
}
"""Workload levels: the least and greatest work of the construction solver, both included. Work of
exactly 2^24 is L3."""

Sense = Literal["min", "max"]
Container = Literal["array", "object"]


class Interface(StrEnum):
    """How the tools lay out the facts of a hidden instance."""

    DIRECT = "direct"
    MEDIATED = "mediated"


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Which world of a family: level, instance index and interface."""

    level: str
    index: int
    interface: Interface

    @property
    def trial(self) -> int:
        """1 to 24 in canonical order: level, then index, then direct before mediated."""
        place = LEVELS.index(self.level) * len(INDEXES) + INDEXES.index(self.index)
        return 2 * place + (self.interface is Interface.MEDIATED) + 1

    @classmethod
    def of_trial(cls, trial: int) -> Coordinate:
        """The world of a trial number; SettingError outside 1 to 24."""
        if isinstance(trial, bool) or not 1 <= trial <= TRIALS:
            raise SettingError(f"trial {trial}: a world family has the trials 1 to {TRIALS}")
        place, second = divmod(trial - 1, 2)
        level, index = divmod(place, len(INDEXES))
        return cls(LEVELS[level], INDEXES[index], Interface.MEDIATED if second else Interface.DIRECT)

    def hidden_id(self, family: str) -> str:
        """``worlds/<family>/<level>/instance-<index>``."""
        return f"{SUITE}/{family}/{self.level}/instance-{self.index}"

    def world_id(self, family: str) -> str:
        """The hidden instance's id with the interface added."""
        return f"{self.hidden_id(family)}/{self.interface.value}"


TRIALS = len(LEVELS) * len(INDEXES) * len(Interface)


def coordinates() -> Iterator[Coordinate]:
    """The 24 worlds of a family in canonical order."""
    return map(Coordinate.of_trial, range(1, TRIALS + 1))


_WORLD_ID = re.compile(rf"{SUITE}/([a-z][a-z0-9_]*)/(L[1-4])/instance-([1-3])/(direct|mediated)", re.ASCII)


def parse_world_id(text: str) -> tuple[str, Coordinate]:
    """Family and coordinate of a world id; SettingError when it is none."""
    match = _WORLD_ID.fullmatch(text)
    if match is None:
        raise SettingError(
            f"{text!r} is no world id: write {SUITE}/FAMILY/L1/instance-1/direct (levels L1 to L4, "
            "instances 1 to 3, direct or mediated)"
        )
    family, level, index, interface = match.groups()
    return family, Coordinate(level, int(index), Interface(interface))


class ToolError(Exception):
    """An executed call cannot be answered: unknown handle, bad window... The text is told to the
    model; the call is charged."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool. ``kind`` is checked before the family sees the call, except for
    ``decision``, whose content is the family's to judge."""

    name: str
    kind: Literal["string", "integer", "array", "object"]
    description: str
    minimum: int | None = None
    maximum: int | None = None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the argument."""
        made: dict[str, Any] = {"type": self.kind, "description": self.description}
        if self.minimum is not None:
            made["minimum"] = self.minimum
        if self.maximum is not None:
            made["maximum"] = self.maximum
        if self.kind == "array":
            made["items"] = {"type": "string"}
        if self.kind == "object":
            made["additionalProperties"] = {"type": "string"}
        return made

    def complaint(self, value: Any) -> str | None:
        """Why a value will not do, or None."""
        if self.kind == "string" and not isinstance(value, str):
            return f"{self.name} must be a string"
        if self.kind == "integer":
            if isinstance(value, bool) or not isinstance(value, int):
                return f"{self.name} must be an integer"
            if (self.minimum is not None and value < self.minimum) or (
                self.maximum is not None and value > self.maximum
            ):
                low, high = self.minimum, self.maximum
                return f"{self.name} must be " + (
                    f"at least {low}" if high is None else f"from {low} to {high}"
                )
        return None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as told to the model. All arguments are required, no others are allowed."""

    name: str
    description: str
    arguments: tuple[Argument, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The nested function form that protocols translate to their own."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {a.name: a.schema() for a in self.arguments},
                    "required": [a.name for a in self.arguments],
                    "additionalProperties": False,
                },
            },
        }

    def names_wrong(self, given: Mapping[str, Any]) -> str | None:
        """What is missing or unexpected among the argument names, or None."""
        wanted = [a.name for a in self.arguments]
        missing = [name for name in wanted if name not in given]
        extra = len(given) - (len(wanted) - len(missing))
        if missing:
            return f"{self.name} needs the argument {missing[0]}"
        if extra:
            allowed = ", ".join(wanted) or "no arguments"
            return f"{self.name} takes {allowed} and nothing else"
        return None

    def values_wrong(self, given: Mapping[str, Any]) -> str | None:
        """The first value of a wrong type or out of range, or None."""
        for argument in self.arguments:
            complaint = argument.complaint(given[argument.name])
            if complaint is not None:
                return complaint
        return None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker says of a decision; ``objective`` is None exactly when infeasible."""

    feasible: bool
    objective: int | None

    def __post_init__(self) -> None:
        assert self.feasible is (self.objective is not None)
        assert self.objective is None or type(self.objective) is int


INFEASIBLE = Verdict(False, None)


class Presentation(ABC):
    """The desk behind the tools of one world: answers information calls, judges decisions.

    Deterministic and without memory: charging, one-shot evaluation and binding are the episode's.
    """

    @abstractmethod
    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The response of a fact-revealing tool (never the evaluator). Names and types of the
        arguments have been checked. Raises ToolError for what cannot be answered."""

    @abstractmethod
    def evaluate(self, value: Any) -> dict[str, Any]:
        """The evaluator's response for a candidate: any JSON value, however malformed."""

    @abstractmethod
    def check(self, value: Any) -> Verdict:
        """The checker: is the decision (any JSON value) feasible, and what is it worth?"""

    @abstractmethod
    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        """The final-decision tool's response (kept in the log; the model never sees it)."""


@dataclass(frozen=True, slots=True)
class World:
    """One world, complete for an episode. Holds no optimum: what an agent could be shown is all
    there is, and the presentation is asked only through tools."""

    id: str
    family: str
    coordinate: Coordinate
    system: str
    """The environment text."""
    user: str
    """The first user message."""
    tools: tuple[Tool, ...]
    """Information tools in order, the evaluator last."""
    submit: Tool
    costs: Mapping[str, int]
    """Cost a call of each information tool, and of nothing else."""
    budget: int
    decision_key: str
    """Argument of the evaluator and of the final-decision tool."""
    container: Container
    sense: Sense
    presentation: Presentation = field(repr=False)

    @property
    def evaluator(self) -> Tool:
        """The candidate evaluator."""
        return self.tools[-1]

    def schemas(self) -> list[dict[str, Any]]:
        """All tools as told to the model, the final-decision tool last."""
        return [tool.schema() for tool in (*self.tools, self.submit)]

    def cost_of(self, calls: Sequence[Any]) -> int:
        """What a list of calls (anything with a ``tool``) costs."""
        return sum(self.costs[call.tool] for call in calls)


def compact(value: Any) -> str:
    """A tool result as sent: JSON without spaces, ASCII-escaped, keys as constructed; integers in
    full whatever their size."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
