"""The benchmark itself: the model's search beside oracle, heuristic and random."""

from __future__ import annotations

from beeline.study import Condition, Study

__all__ = ["Score"]


class Score(Study):
    """One condition, all four arms."""

    name = "score"
    asks_model = True

    def conditions(self) -> tuple[Condition, ...]:
        """The benchmark's own condition."""
        return (Condition(),)
