"""The order in which the options of a question are shown.

``benchmark`` shuffles the labels of the whole frontier anew for each question, from the draws
(domain, trial, "order", model). ``random-2``, ``random-3``... do the same from draws whose path
ends in their name. The others do not draw: ``found`` (oldest first), ``newest-first``, and
``best-first`` and ``worst-first``, stable sorts by the domain's heuristic. A second asking of the
same question is shuffled in any case, since the same order would only repeat it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from beeline.draws import Draws
from beeline.errors import SettingError, nearest
from beeline.search import Frontier

__all__ = ["BENCHMARK_ORDER", "FIXED_ORDERS", "Ordering", "check_order"]

BENCHMARK_ORDER = "benchmark"
FIXED_ORDERS = ("found", "newest-first", "best-first", "worst-first")
_RANDOM = re.compile(r"random-[1-9][0-9]{0,5}")


def check_order(name: str) -> str:
    """The name, if it names an order; SettingError otherwise."""
    if name == BENCHMARK_ORDER or name in FIXED_ORDERS or (_RANDOM.fullmatch(name) and name != "random-1"):
        return name
    known = (BENCHMARK_ORDER, "random-2", "random-3", *FIXED_ORDERS)
    raise SettingError(f"there is no order {name!r}: {nearest(name, known)}; random-4 and so on draw too")


class Ordering:
    """The orders of one trial. ``heuristic`` is the space's, by state number."""

    def __init__(
        self, name: str, domain: str, trial: int, model_id: str, heuristic: Callable[[int], Any]
    ) -> None:
        self.name = check_order(name)
        own = () if name == BENCHMARK_ORDER else (name,)
        self._draws = Draws(domain, trial, "order", model_id, *own)
        self._heuristic = heuristic

    def first(self, frontier: Frontier) -> list[int]:
        """Frontier indices in the order to show; ``result[k]`` is shown at place k."""
        size = len(frontier.states)
        if self.name == "found":
            return list(range(size))
        if self.name == "newest-first":
            return list(range(size - 1, -1, -1))
        if self.name in ("best-first", "worst-first"):
            values = [self._heuristic(state) for state in frontier.states]
            return sorted(range(size), key=values.__getitem__, reverse=self.name == "worst-first")
        return self.again(frontier)

    def again(self, frontier: Frontier) -> list[int]:
        """A new shuffle of the labels in frontier order."""
        positions = list(range(len(frontier.states)))
        self._draws.shuffle(positions)
        return positions
