"""The model that always takes the first option it is shown: the floor of any order effect.

Options are shown in a shuffled order, so its score is that of chance under the model arm's own
draws; a model that cannot beat it reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beeline.model import Model
from beeline.question import Answer, Question
from protocols.settings import read_settings

__all__ = ["FirstOption"]


@dataclass(frozen=True)
class _NoSettings:
    """It has none."""


class FirstOption(Model):
    """Probability 1 for the first shown option."""

    placement = "worker"
    deterministic = True
    # No limit of its own; what a version allows is far below.
    max_options = 1_000_000

    def __init__(self, name: str) -> None:
        self.name = name
        self.model_id = "first-option"

    @classmethod
    def from_settings(
        cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()
    ) -> FirstOption:
        """There are no settings; any is refused."""
        read_settings(_NoSettings, settings)
        return cls(name)

    def answer_now(self, question: Question) -> Answer:
        """All of the probability on the first."""
        return Answer({question.options[0]: 1.0}, cost_usd=0.0, served_model=self.model_id)

    def describe(self) -> dict[str, Any]:
        """Its id and limit."""
        return {"protocol": "first_option", "id": self.model_id, "max_options": self.max_options}
