"""The contract of a study: what a run is for.

A study is a list of conditions over the same trials, so that everything pairs, and an analysis of
what they show. In a record it shows as ``study`` and ``condition``; what it concludes is computed
from records, traces and archives alone. A study that is no list of trials (an estimate of prices, a
probe) performs its work instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from beeline.errors import SettingError
from beeline.ordering import BENCHMARK_ORDER
from beeline.wording import Wording

if TYPE_CHECKING:
    from beeline.analysis import Analysis
    from beeline.records import Record
    from beeline.spec import Spec

__all__ = ["BENCHMARK", "Condition", "Study"]

BENCHMARK = "benchmark"
"""Name of the condition that is the benchmark itself."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One way to run the trials, repeated ``repeats`` times (a repeat changes no draws)."""

    name: str = BENCHMARK
    repeats: int = 1
    order: str = BENCHMARK_ORDER
    """The order of options (beeline.ordering)."""
    representation: str | None = None
    """How states are written; None for the version's way."""
    wording: Wording | None = None
    """The words around them; None for the version's."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data; what is as in the benchmark is left out."""
        data: dict[str, Any] = {"name": self.name, "repeats": self.repeats}
        if self.order != BENCHMARK_ORDER:
            data["order"] = self.order
        if self.representation is not None:
            data["representation"] = self.representation
        if self.wording is not None:
            data["wording"] = {
                "name": self.wording.name,
                "instructions": self.wording.instructions,
                "task": self.wording.task,
                "goal": self.wording.goal,
                "context": self.wording.context,
                "domains": {domain: dict(texts) for domain, texts in self.wording.domains},
            }
        return data


class Study(ABC):
    """Subclasses declare whether the model is asked and list their conditions."""

    name: ClassVar[str]
    asks_model: ClassVar[bool]
    """Whether conditions have a model arm; False keeps the records under the name ``none``."""
    needs_key: ClassVar[bool] = True
    """False when nothing is sent, so that no key need be there."""
    trials: ClassVar[int] = 100
    """Trials when the user does not say."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Make the study from its YAML, ``name`` and ``target`` left out; a study with settings
        overrides this (beeline.settings.read_settings). Raises SettingError."""
        for key in settings:
            raise SettingError(f"study.{key} is not a setting of study {cls.name}: it has none")
        return cls()

    @abstractmethod
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, in the order they run; names are unique."""

    def conditions_for(self, spec: Spec) -> tuple[Condition, ...]:
        """The conditions for one spec; overridden where they depend on the domain."""
        return self.conditions()

    def perform(self, spec: Spec) -> str | None:
        """A study that is no list of trials overrides this: it does its work and returns the text
        to be shown, and no conditions are run."""
        return None

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis | None:
        """What the conditions show, from the records by condition (sorted by trial and repeat)
        and the traces below ``results``. None where the summary says it all."""
        return None
