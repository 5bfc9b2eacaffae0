"""The contract of the worlds suite, part 2: a family of worlds.

A family makes 12 hidden instances (four levels of three) and shows each through two interfaces. It
brings a generator, a construction solver that counts its work, a verification solver of another
direction or formulation, a checker, the presentations, two acquisition plans and a normaliser of
facts. Everything else (coordinates, attempts, budgets, texts, sufficiency, scores) is here once.

Randomness enters in :meth:`WorldDomain.generate` alone, from draws named by the path
``("worlds", edition, family, level, index, attempt)``. An instance that fails an acceptance test is
drawn again with the next attempt. The **private record** of a hidden instance holds what no agent
is shown: instance, optimal decision, reference decision, work.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from beeline.digest import digest_of
from beeline.draws import Draws
from beeline.episode import EpisodeLimits
from beeline.errors import DataError, DomainError, SettingError, nearest
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.problem import read_parameters
from beeline.world import (
    BANDS,
    SUITE,
    TRIALS,
    Container,
    Coordinate,
    Interface,
    Presentation,
    Sense,
    Tool,
    ToolError,
    Verdict,
    World,
)
from beeline.world_solution import Private, Solution
from beeline.world_words import flow, terms

__all__ = ["WorldDomain", "WorldParameters", "rotation"]

I = TypeVar("I")  # noqa: E741 - the instance type of a family

MAX_ATTEMPTS = 200
"""Attempts at one hidden instance before the generator is called broken."""


@dataclass(frozen=True, slots=True)
class WorldParameters:
    """What a version's table says of a family."""

    edition: int
    """Enters every draws path: another edition is another set of instances."""
    manifest: str
    """Digest of the certified manifest of the instances; empty for an edition without one, whose
    instances are verified by the second solver when drawn."""

    def __post_init__(self) -> None:
        if self.edition < 1:
            raise ValueError(f"edition must be at least 1, not {self.edition}")
        if self.manifest and (len(self.manifest) != 64 or not set(self.manifest) <= set("0123456789abcdef")):
            raise ValueError(f"manifest must be a SHA-256 in hexadecimal or empty, not {self.manifest!r}")


def rotation(tools: Sequence[Tool], *prices: Sequence[int]) -> tuple[dict[str, int], ...]:
    """Costs by tool for each instance index, given in the order of the tools."""
    return tuple({tool.name: cost for tool, cost in zip(tools, row, strict=True)} for row in prices)


class WorldDomain(ABC, Generic[I]):
    """A family. Made as every domain is: from a heuristic's name and a version's parameters."""

    suite: ClassVar[str] = SUITE
    heuristics: ClassVar[tuple[str, ...]] = ("reference",)
    """The classic method: the reference decision."""
    Parameters: ClassVar[type] = WorldParameters
    trials: ClassVar[int] = TRIALS

    name: ClassVar[str]
    title: ClassVar[str]
    task: ClassVar[str]
    """One sentence: what is decided and what is optimised."""
    sense: ClassVar[Sense]
    decision_key: ClassVar[str]
    container: ClassVar[Container]
    tools: ClassVar[tuple[Tool, ...]]
    """Information tools in order, the evaluator last; equal in both interfaces."""
    submit: ClassVar[Tool]
    costs: ClassVar[tuple[Mapping[str, int], ...]]
    """Cost of each information tool for the instance indexes 1, 2 and 3; :func:`rotation` makes it."""
    channels: ClassVar[Mapping[str, frozenset[str]]]
    """Information channels: for each, the tools whose responses depend on its facts."""
    shuffled_windows: ClassVar[bool] = False
    """Whether a window over an order that each interface shuffles shows other things in each."""
    sizes: ClassVar[Mapping[str, Any]]
    """Frozen generator parameters of each level."""

    def __init__(self, heuristic: str, parameters: Mapping[str, Any]) -> None:
        if heuristic not in self.heuristics:
            raise SettingError(
                f"domain {self.name} knows no heuristic {heuristic!r}: {nearest(heuristic, self.heuristics)}"
            )
        self.heuristic = heuristic
        self.parameters_given = dict(parameters)
        self.parameters: WorldParameters = read_parameters(self.name, self.Parameters, parameters)
        self._private = lru_cache(maxsize=12)(self._make_private)

    # The problem.

    @abstractmethod
    def generate(self, size: Any, draws: Draws) -> I:
        """Draw an instance of a size (an entry of ``sizes``). May return one that is not accepted."""

    @abstractmethod
    def solve(self, instance: I) -> Solution:
        """The construction solver, with its work."""

    @abstractmethod
    def verify(self, instance: I) -> Solution:
        """The verification solver: another direction or formulation, nothing shared with the first."""

    @abstractmethod
    def check(self, instance: I, value: Any) -> Verdict:
        """Is a decision (any JSON value) feasible, and what is it worth? Never raises."""

    @abstractmethod
    def reference(self, instance: I) -> Any:
        """The reference decision; deterministic, feasible when anything is."""

    @abstractmethod
    def random_decision(self, instance: I, draws: Draws) -> Any:
        """A seeded feasible decision."""

    @abstractmethod
    def to_json(self, instance: I) -> dict[str, Any]:
        """The interface-neutral instance as JSON data; its digest identifies the instance."""

    @abstractmethod
    def from_json(self, data: Mapping[str, Any]) -> I:
        """Inverse of :meth:`to_json`."""

    # How it is shown and learnt.

    @abstractmethod
    def present(self, instance: I, interface: Interface) -> Presentation:
        """The desk behind the tools. Row orders, slots and connectors are pure functions of handles,
        so that a changed fact changes no response but those that tell it."""

    @abstractmethod
    def public(self, instance: I) -> dict[str, Any]:
        """What the prompt states of the instance (counts, handle lists) besides costs and budget, as
        JSON data. All that a normaliser may know beyond the responses."""

    @abstractmethod
    def words(self, public: Mapping[str, Any], interface: Interface) -> tuple[str, str]:
        """System text and first user message; the paragraphs on costs and budget are added."""

    @abstractmethod
    def plans(self, instance: I, interface: Interface) -> tuple[Plan, Plan]:
        """The two acquisition plans, fine-grained and wide."""

    @abstractmethod
    def catalogue(self, instance: I, interface: Interface) -> Sequence[Call]:
        """Every distinct request that can reveal a fact, once."""

    @abstractmethod
    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        """The facts that answered calls tell together."""

    @abstractmethod
    def facts(self, instance: I) -> Facts:
        """The facts of the instance that a sufficient set holds, straight from the instance."""

    @abstractmethod
    def channel(self, fact: Fact) -> str:
        """The channel of a fact, a key of ``channels``."""

    @abstractmethod
    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> I:
        """The instance that the facts determine; raises Insufficient when one is missing."""

    @abstractmethod
    def variant(self, instance: I, channel: str, draws: Draws) -> I:
        """An admissible instance that differs in facts of one channel only, handles equal."""

    def of_release(self, payload: Mapping[str, Any], interface: Interface) -> tuple[I, Presentation]:
        """The instance and the desk of a payload of the public AlgoWorlds release, rows in the payload's
        order. Optional: without it, DataError."""
        raise DataError(f"{self.name} cannot read instances of the AlgoWorlds release")

    # What follows from it.

    def draw(self, trial: int, draws: Draws | None = None) -> dict[str, Any]:
        """The private record of a trial's hidden instance as JSON data, for a cache. ``draws`` is not
        used: the path of a world's draws has the attempt in it."""
        coordinate = Coordinate.of_trial(trial)
        return self.record(self.private(coordinate.level, coordinate.index))

    def record(self, private: Private[I]) -> dict[str, Any]:
        """A private record as JSON data."""
        return private.as_json(self.to_json(private.instance))

    def read_record(self, data: Mapping[str, Any]) -> Private[I]:
        """Inverse of :meth:`record`."""
        return Private.of_json(data, self.from_json)

    def private(self, level: str, index: int) -> Private[I]:
        """The private record of a hidden instance, made once in a process."""
        return self._private(level, index)

    def world(self, instance: I, coordinate: Coordinate) -> World:
        """A world of a hidden instance."""
        costs = self.costs[coordinate.index - 1]
        budget = self.budget(instance, coordinate.index)
        desk = self.present(instance, coordinate.interface)
        return self.assemble(instance, coordinate, costs, budget, desk, coordinate.world_id(self.name))

    def assemble(
        self,
        instance: I,
        coordinate: Coordinate,
        costs: Mapping[str, int],
        budget: int,
        desk: Presentation,
        world_id: str,
    ) -> World:
        """A world of given costs, budget and desk."""
        system, user = self.words(self.public(instance), coordinate.interface)
        evaluator, submit = self.tools[-1].name, self.submit.name
        shared = terms(evaluator, submit, self.decision_key, costs, budget, EpisodeLimits().max_calls)
        return World(
            id=world_id,
            family=self.name,
            coordinate=coordinate,
            system=f"{flow(system)}\n\n{shared}\n",
            user=flow(user) + "\n",
            tools=self.tools,
            submit=self.submit,
            costs=costs,
            budget=budget,
            decision_key=self.decision_key,
            container=self.container,
            sense=self.sense,
            presentation=desk,
        )

    def budget(self, instance: I, index: int) -> int:
        """Cost of the dearer plan of either interface, plus one evaluation."""
        costs = self.costs[index - 1]
        dearest = max(
            sum(costs[call.tool] for call in plan.calls)
            for interface in Interface
            for plan in self.plans(instance, interface)
        )
        return dearest + costs[self.tools[-1].name]

    def follow(self, instance: I, interface: Interface, calls: Sequence[Call]) -> Facts:
        """The facts that a list of calls tells; an error is a DomainError, for these are our own."""
        desk = self.present(instance, interface)
        executed = []
        for call in calls:
            try:
                executed.append(Executed(call.tool, call.arguments, desk.answer(call.tool, call.arguments)))
            except ToolError as error:
                raise DomainError(
                    f"{self.name}: a plan calls {call.tool} with {dict(call.arguments)} and gets: {error}"
                ) from error
        return self.normalise(self.public(instance), executed)

    def sufficient(self, instance: I, interface: Interface) -> tuple[Facts, ...]:
        """The sufficient sets: what each plan tells."""
        return tuple(self.follow(instance, interface, plan.calls) for plan in self.plans(instance, interface))

    def generated(self, level: str, index: int, attempt: int) -> I:
        """The instance of one attempt, accepted or not."""
        draws = Draws(SUITE, self.parameters.edition, self.name, level, index, attempt)
        return self.generate(self.sizes[level], draws)

    def attempts(self, level: str, index: int) -> Iterator[tuple[int, I, str | None, Private[I] | None]]:
        """Attempt number, instance, why it was refused and the record if it was not; ends with the
        accepted one. Raises DomainError after MAX_ATTEMPTS."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            instance = self.generated(level, index, attempt)
            made = self.consider(level, index, attempt, instance)
            if isinstance(made, Private):
                yield attempt, instance, None, made
                return
            yield attempt, instance, made, None
        raise DomainError(
            f"{self.name} {level} instance {index}: none of {MAX_ATTEMPTS} attempts was accepted; the "
            "generator's parameters for this level are wrong"
        )

    def consider(self, level: str, index: int, attempt: int, instance: I) -> Private[I] | str:
        """Solve an instance and make its private record, or say why it is not accepted.

        Not made here, for it takes a second solver: agreement with :meth:`verify`."""
        solution = self.solve(instance)
        if solution.objective is None:
            return "no feasible decision"
        if solution.optima != 1:
            return "several optima"
        assert solution.work is not None
        low, high = BANDS[level]
        if not low <= solution.work.total <= high:
            return f"work {solution.work.total} outside {low} to {high}"
        verdict = self.check(instance, solution.decision)
        if verdict.objective != solution.objective:
            raise DomainError(
                f"{self.name} {level} instance {index}: the checker values the optimum "
                f"{verdict.objective}, the solver {solution.objective}"
            )
        reference = self.reference(instance)
        value = self.check(instance, reference).objective
        if value is None or value == solution.objective:
            return "the reference decision is optimal or infeasible"
        latent = digest_of(self.to_json(instance))
        return Private(level, index, attempt, instance, solution, reference, value, latent)

    def _make_private(self, level: str, index: int) -> Private[I]:
        if self.parameters.manifest:
            return self._certified(level, index)
        private = next(made for *_, made in self.attempts(level, index) if made is not None)
        if not private.solution.agrees(self.verify(private.instance)):
            raise DomainError(f"{self.name} {level} instance {index}: the two solvers disagree")
        return private

    def _certified(self, level: str, index: int) -> Private[I]:
        """The instance that the manifest certifies, made again and compared."""
        entry = self.manifest["instances"][f"{level}/{index}"]
        attempt = entry["attempt"]
        made = self.consider(level, index, attempt, self.generated(level, index, attempt))
        found = None if isinstance(made, str) else (made.latent, made.optimum, made.reference_objective)
        if isinstance(made, str) or found != (entry["latent"], entry["optimum"], entry["reference"]):
            raise DomainError(
                f"{self.name} {level} instance {index} is not the certified one: the code that draws or "
                "solves it has changed, and so must the edition"
            )
        return made

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The certified manifest of this edition, from the family's package (``manifest.json``).

        Raises DataError when it is absent or not the one that the version names, SettingError when it
        is of another edition."""
        path = Path(str(sys.modules[type(self).__module__].__file__)).with_name("manifest.json")
        try:
            data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"the manifest of {self.name} cannot be read from {path}: {error}") from error
        wanted, edition = self.parameters.manifest, self.parameters.edition
        if digest_of(data) != wanted:
            raise DataError(
                f"{path} is not the manifest that this version names (digest {digest_of(data)[:16]}, "
                f"wanted {wanted[:16]}): restore the file"
            )
        if data.get("edition") != edition:
            raise SettingError(
                f"the manifest of {self.name} certifies edition {data.get('edition')}, not {edition}: set "
                f"version.worlds.{self.name}.manifest='' to have the instances of edition {edition} "
                "verified when they are drawn"
            )
        return data
