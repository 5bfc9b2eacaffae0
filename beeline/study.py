"""The contract of a study: what a run is for.

A study is a list of conditions over the same trials. In a record it shows as ``study`` and
``condition``; what it concludes is computed from records alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from beeline.spec import Spec

__all__ = ["BENCHMARK", "Condition", "Study"]

BENCHMARK = "benchmark"
"""Name of the condition that is the benchmark itself."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One way to run the trials, repeated ``repeats`` times (a repeat changes no draws)."""

    name: str = BENCHMARK
    repeats: int = 1


class Study(ABC):
    """Subclasses declare whether the model is asked and list their conditions."""

    name: ClassVar[str]
    asks_model: ClassVar[bool]
    """Whether conditions have a model arm; False keeps the records under the name ``none``."""
    needs_key: ClassVar[bool] = True
    """False when nothing is sent, so that no key need be there."""

    @abstractmethod
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, in the order they run; names are unique."""

    def perform(self, spec: Spec) -> str | None:
        """A study that is no list of trials overrides this: it does its work and returns the text
        to be shown, and no conditions are run."""
        return None
