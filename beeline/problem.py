"""The contract of a navigation domain, and the plain way to measure distances.

A **domain** makes seeded trials. A trial is *drawn* once (``draw``: the only place where
randomness enters, its result is plain JSON data that a cache can keep) and *built* as often
as needed (``build``: deterministic). A **problem** is one trial: a start, successors in a
fixed order, a goal test, a heuristic and a text for each state.

What a new domain gets for free is :func:`beeline.space.explore`: an exhaustive breadth-first
search that numbers the states and measures every distance. A domain whose state space is
shared by its trials or fits integers may override ``space`` with a kernel; a property test
holds the kernel to the plain version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from beeline.draws import Draws

if TYPE_CHECKING:
    from beeline.space import Space

__all__ = ["Domain", "Problem"]

S = TypeVar("S", bound=Hashable)


class Problem(ABC, Generic[S]):
    """One trial. States are immutable and hashable."""

    start: S
    objective: str
    """The goal as told to the model."""
    context: str
    """The rules, and facts of this trial, as told to the model."""

    @abstractmethod
    def successors(self, state: S) -> Sequence[S]:
        """The states one move away, in the domain's order; repeats are allowed."""

    @abstractmethod
    def is_goal(self, state: S) -> bool:
        """Whether this state solves the trial."""

    @abstractmethod
    def heuristic(self, state: S) -> Any:
        """A value that can be compared with the others of this trial; less is better."""

    @abstractmethod
    def render(self, state: S) -> str:
        """The option text; two states of one frontier never share it."""


class Domain(ABC):
    """A family of seeded trials.

    ``parameters`` are those of the version's table for this domain, already known to be a
    mapping; a subclass checks them and raises SettingError naming the one that is wrong.
    """

    suite: ClassVar[str] = "navigation"
    name: ClassVar[str]
    """The name in configs, records and draws paths."""
    title: ClassVar[str]
    task: ClassVar[str]
    """What kind of problem this is, as told to the model."""
    heuristics: ClassVar[tuple[str, ...]]
    """Names of the heuristics it knows, the classic one first."""

    def __init__(self, heuristic: str, parameters: Mapping[str, Any]) -> None:
        self.heuristic = heuristic
        self.parameters = dict(parameters)

    @abstractmethod
    def draw(self, trial: int, draws: Draws) -> Any:
        """Draw trial ``trial`` from ``draws`` (path: domain name, trial): JSON data only."""

    @abstractmethod
    def build(self, trial: int, instance: Any) -> Problem[Any]:
        """The problem of a drawn instance (which may have been through JSON), no draws left."""

    def space(self, trial: int, instance: Any) -> Space:
        """The numbered state space of a drawn instance; override with a kernel."""
        from beeline.space import explore

        return explore(self.build(trial, instance))

    def problem(self, trial: int) -> Problem[Any]:
        """Draw and build in one go."""
        return self.build(trial, self.draw(trial, Draws(self.name, trial)))
