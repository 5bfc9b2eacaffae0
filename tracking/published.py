"""What is published of benchmark version 1.0.0, to stand beside our own figures, marked as such.

Source: the results that BeelineBench 1.0.0 publishes (October 2026), as printed: geometric means over
100 trials unless said, 95% intervals. Arms that ask no model follow the same rules to the last digit, so
theirs can be compared directly; prompts of models were worded differently from ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DOMAINS", "MODELS", "OFFLINE", "SOURCE", "VERSION", "Model", "Offline", "find"]

VERSION = "1.0.0"
SOURCE = "BeelineBench 1.0.0, October 2026"
DOMAINS = ("tiles", "blocksworld", "countdown", "word_ladder", "wikispeedia", "rush_hour", "keys_doors")


@dataclass(frozen=True, slots=True)
class Offline:
    """One arm without a model in one domain, as printed; ``mark`` is a dagger where trials were unsolved."""

    score: float
    low: float
    high: float
    mark: str = ""


OFFLINE: Mapping[str, Mapping[str, Offline]] = {
    "tiles": {"heuristic": Offline(0.31, 0.24, 0.39), "random": Offline(0.0076, 0.0066, 0.0090)},
    "blocksworld": {"heuristic": Offline(0.71, 0.64, 0.79), "random": Offline(0.0052, 0.0047, 0.0058)},
    "countdown": {"heuristic": Offline(0.28, 0.23, 0.34), "random": Offline(0.05, 0.04, 0.06)},
    "word_ladder": {"heuristic": Offline(0.32, 0.27, 0.38), "random": Offline(0.0066, 0.0055, 0.0081)},
    "wikispeedia": {"heuristic": Offline(0.12, 0.09, 0.16, "†"), "random": Offline(0.0032, 0.0027, 0.0038)},
    "rush_hour": {"heuristic": Offline(0.04, 0.03, 0.06, "†"), "random": Offline(0.0093, 0.0078, 0.01)},
    "keys_doors": {"heuristic": Offline(0.58, 0.54, 0.62), "random": Offline(0.18, 0.16, 0.19)},
}
"""By domain and arm. The oracle is 1.000 everywhere but in wikispeedia (0.987)."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model's published scores by domain; no intervals are published."""

    title: str
    ids: str
    """A pattern for the last part of the name that an API is asked for."""
    scores: Mapping[str, float]
    unsolved: frozenset[str] = frozenset()
    """Domains whose score is marked with a star: at least one trial was unsolved."""
    trials: int = 100
    trials_of: Mapping[str, int] = field(default_factory=dict)

    def trials_in(self, domain: str) -> int:
        """How many trials the score of a domain is over."""
        return self.trials_of.get(domain, self.trials)


def _scores(*values: float) -> dict[str, float]:
    return dict(zip(DOMAINS, values, strict=False))


MODELS: tuple[Model, ...] = (
    Model(
        "Jev 1.13",
        r"jev-1\.13(\.\d+)?",
        _scores(0.09, 0.52, 0.46, 0.20, 0.71, 0.03, 0.67),
        frozenset({"word_ladder", "rush_hour"}),
    ),
    Model(
        "pplx-decider 1.1",
        r"pplx-decider-v1\.1(-27b)?",
        _scores(0.10, 0.52, 0.49, 0.20, 0.71, 0.06),
        frozenset({"rush_hour"}),
        trials_of={"rush_hour": 50},
    ),
    Model(
        "Mercury Decide",
        r"mercury-decide(:free)?",
        _scores(0.16, 0.63, 0.36, 0.16, 0.67, 0.06),
        frozenset({"word_ladder", "rush_hour"}),
        trials_of={"rush_hour": 25},
    ),
    Model(
        "GPT-6 Luna",
        r"gpt-6-luna(-decisions)?",
        _scores(0.16, 0.25, 0.24, 0.16, 0.61, 0.02),
        frozenset({"word_ladder", "wikispeedia", "rush_hour"}),
        trials_of={"rush_hour": 50},
    ),
    Model(
        "Liquid d1",
        r"d1",
        _scores(0.10, 0.37, 0.42, 0.15, 0.63, 0.01),
        frozenset({"tiles", "word_ladder", "wikispeedia", "rush_hour"}),
        trials_of={"rush_hour": 8},
    ),
    Model(
        "Clef",
        r"clef",
        _scores(0.05, 0.32, 0.50, 0.11, 0.62, 0.02, 0.40),
        frozenset({"rush_hour"}),
        trials=5,
    ),
    Model(
        "Clef-flash",
        r"clef-flash",
        _scores(0.02, 0.10, 0.27, 0.06, 0.45, 0.04, 0.28),
        frozenset({"tiles", "rush_hour"}),
        trials=5,
    ),
)


def find(model_id: str | None) -> Model | None:
    """The published model with this API name; what stands before a slash is ignored."""
    last = (model_id or "").rpartition("/")[2]
    return next((model for model in MODELS if re.fullmatch(model.ids, last)), None)
