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
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from beeline.draws import Draws
from beeline.errors import SettingError, nearest

if TYPE_CHECKING:
    from beeline.representation import Representation
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

    Made from a heuristic's name and the parameters of a version's table for this domain; raises
    SettingError naming whatever is unknown, missing or out of range.
    """

    suite: ClassVar[str] = "navigation"
    name: ClassVar[str]
    """The name in configs, records and draws paths."""
    title: ClassVar[str]
    task: ClassVar[str]
    """What kind of problem this is, as told to the model."""
    heuristics: ClassVar[tuple[str, ...]]
    """Names of the heuristics it knows, the classic one first."""
    representations: ClassVar[tuple[Representation, ...]] = ()
    """Ways to write a state; the first is what the problem itself writes (version 1.0.0)."""

    Parameters: ClassVar[type]
    """A frozen dataclass: the parameters that a version's table must give, ints, floats, strings
    or bools, without defaults (a version states everything). ``__post_init__`` may raise
    ValueError naming a parameter that is out of range."""

    def __init__(self, heuristic: str, parameters: Mapping[str, Any]) -> None:
        if heuristic not in self.heuristics:
            raise SettingError(
                f"domain {self.name} knows no heuristic {heuristic!r}: {nearest(heuristic, self.heuristics)}"
            )
        self.heuristic = heuristic
        self.parameters_given = dict(parameters)
        self.parameters = read_parameters(self.name, self.Parameters, parameters)

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


def read_parameters(domain: str, kind: type, given: Mapping[str, Any]) -> Any:
    """Make ``kind`` (a dataclass of plain values) of ``given``; nothing may be missing or extra.

    Raises SettingError naming domain, parameter, value and what is allowed.
    """
    known = {field.name: field.type for field in fields(kind)}
    for name in given:
        if name not in known:
            raise SettingError(f"domain {domain} has no parameter {name!r}: {nearest(str(name), known)}")
    for name, wanted in known.items():
        if name not in given:
            raise SettingError(f"domain {domain} needs the parameter {name!r}; the version's table lacks it")
        value, wanted = given[name], str(getattr(wanted, "__name__", wanted))
        if type(value).__name__ != wanted and not (wanted == "float" and type(value) is int):
            raise SettingError(
                f"domain {domain}: parameter {name} must be {wanted}, not {type(value).__name__} {value!r}"
            )
    try:
        return kind(**given)
    except ValueError as error:
        raise SettingError(f"domain {domain}: {error}") from error
