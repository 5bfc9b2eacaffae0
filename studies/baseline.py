"""The arms that need no model: oracle, heuristic and random."""

from __future__ import annotations

from beeline.study import Condition, Study

__all__ = ["Baseline"]


class Baseline(Study):
    """One condition, the three offline arms; records lie under the model name ``none``."""

    name = "baseline"
    asks_model = False

    def conditions(self) -> tuple[Condition, ...]:
        """The benchmark's own condition."""
        return (Condition(),)
