"""What is published of models on version 1.0.0: scores, list prices and tokens of a full run.

Source: the results that BeelineBench 1.0.0 publishes (October 2026): geometric-mean scores as
printed, over 100 trials unless said, and measured input tokens of a full run (seven domains, 700
trials). ``counted`` is ours: the tokens that :mod:`studies.forecast` counts for the same scores with
nothing calibrated; a test computes them anew. Published over counted is a model's *factor*.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["PUBLISHED", "Published", "find", "half_unit", "mean_factor"]


@dataclass(frozen=True, slots=True)
class Published:
    """One model's published figures."""

    title: str
    ids: str
    """A pattern for the last part of the name that an API is asked for."""
    scores: Mapping[str, float]
    """By domain."""
    input_tokens: int
    """Of a full run."""
    counted: int
    """What we count for it, uncalibrated."""
    trials: int = 100
    trials_of: Mapping[str, int] = field(default_factory=dict)
    """Domains with another number of trials."""

    @property
    def factor(self) -> float:
        """Tokens that the host counted for one of ours."""
        return self.input_tokens / self.counted


_DOMAINS = ("tiles", "blocksworld", "countdown", "word_ladder", "wikispeedia", "rush_hour", "keys_doors")


def _scores(*values: float) -> dict[str, float]:
    return dict(zip(_DOMAINS, values, strict=False))


PUBLISHED: tuple[Published, ...] = (
    Published(
        "Jev 1.13",
        r"jev-1\.13(\.\d+)?",
        _scores(0.09, 0.52, 0.46, 0.20, 0.71, 0.03, 0.67),
        577_000_000,
        512_315_841,
    ),
    Published(
        "pplx-decider 1.1",
        r"pplx-decider-v1\.1(-27b)?",
        _scores(0.10, 0.52, 0.49, 0.20, 0.71, 0.06),
        481_000_000,
        343_201_272,
        trials_of={"rush_hour": 50},
    ),
    Published(
        "Mercury Decide",
        r"mercury-decide(:free)?",
        _scores(0.16, 0.63, 0.36, 0.16, 0.67, 0.06),
        439_000_000,
        320_425_333,
        trials_of={"rush_hour": 25},
    ),
    Published(
        "GPT-6 Luna",
        r"gpt-6-luna(-decisions)?",
        _scores(0.16, 0.25, 0.24, 0.16, 0.61, 0.02),
        312_000_000,
        657_817_937,
        trials_of={"rush_hour": 50},
    ),
    Published(
        "Liquid d1",
        r"d1",
        _scores(0.10, 0.37, 0.42, 0.15, 0.63, 0.01),
        939_000_000,
        1_058_735_605,
        trials_of={"rush_hour": 8},
    ),
    Published(
        "Clef",
        r"clef",
        _scores(0.05, 0.32, 0.50, 0.11, 0.62, 0.02, 0.40),
        1_347_000_000,
        739_733_486,
        trials=5,
    ),
    Published(
        "Clef-flash",
        r"clef-flash",
        _scores(0.02, 0.10, 0.27, 0.06, 0.45, 0.04, 0.28),
        1_978_000_000,
        868_791_128,
        trials=5,
    ),
)


def find(model_id: str) -> Published | None:
    """The published figures of the model with this API name; provider prefixes are ignored."""
    last = model_id.rpartition("/")[2]
    return next((model for model in PUBLISHED if re.fullmatch(model.ids, last)), None)


def half_unit(score: float) -> float:
    """Half a unit of the last digit as printed: two decimals from 0.01 up, else two significant
    digits."""
    digits = 2 if score >= 0.01 else 1 - math.floor(math.log10(score))
    return 0.5 * 10.0**-digits


def mean_factor(without: Published | None = None) -> float:
    """Geometric mean of the factors of all published models, or of all but one."""
    logs = [math.log(model.factor) for model in PUBLISHED if model is not without]
    return math.exp(math.fsum(logs) / len(logs))
