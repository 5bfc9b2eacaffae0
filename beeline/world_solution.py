"""What solvers find, and the private record of a hidden instance: all that no agent is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Private", "Solution", "Work"]

I = TypeVar("I")  # noqa: E741 - the instance type of a family


@dataclass(frozen=True, slots=True)
class Work:
    """Operations that the construction algorithm executes, however they are vectorised."""

    states: int
    """States visited."""
    transitions: int
    """Candidate transitions examined."""
    checks: int
    """Constraint conditions tested."""
    updates: int
    """Stored values updated."""
    reconstructions: int
    """Decision components recovered."""

    @property
    def total(self) -> int:
        """The work that a workload level is assigned from."""
        return self.states + self.transitions + self.checks + self.updates + self.reconstructions


@dataclass(frozen=True, slots=True)
class Solution:
    """What an exact solver found. Without a feasible decision: None, None, 0."""

    decision: Any
    """The value under the decision key; of several optima, the first in the family's order."""
    objective: int | None
    optima: int
    """Number of optimal decisions, counted up to 2."""
    work: Work | None = None
    """Counted by the construction solver."""

    def agrees(self, other: Solution) -> bool:
        """Whether two solvers found the same. With several optima each may find another decision."""
        same = (self.objective, self.optima) == (other.objective, other.optima)
        return same and (self.optima != 1 or self.decision == other.decision)


@dataclass(frozen=True, slots=True)
class Private(Generic[I]):
    """The private record of a hidden instance."""

    level: str
    index: int
    attempt: int
    """Which attempt of the generator was the first accepted one."""
    instance: I
    solution: Solution
    reference: Any
    """The reference decision: optimal for the objective without its coupling term."""
    reference_objective: int
    latent: str
    """SHA-256 of the instance as interface-neutral JSON."""

    @property
    def optimum(self) -> int:
        """The certified optimum."""
        assert self.solution.objective is not None
        return self.solution.objective

    def as_json(self, instance: dict[str, Any]) -> dict[str, Any]:
        """The record as JSON data, given the instance as JSON data."""
        solution = self.solution
        return {
            "level": self.level,
            "index": self.index,
            "attempt": self.attempt,
            "instance": instance,
            "decision": solution.decision,
            "optimum": solution.objective,
            "optima": solution.optima,
            "work": None if solution.work is None else asdict(solution.work),
            "reference": self.reference,
            "reference_objective": self.reference_objective,
            "latent": self.latent,
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any], instance: Callable[[Mapping[str, Any]], I]) -> Private[I]:
        """Inverse of :meth:`as_json`."""
        work = None if data["work"] is None else Work(**data["work"])
        return cls(
            data["level"],
            data["index"],
            data["attempt"],
            instance(data["instance"]),
            Solution(data["decision"], data["optimum"], data["optima"], work),
            data["reference"],
            data["reference_objective"],
            data["latent"],
        )
