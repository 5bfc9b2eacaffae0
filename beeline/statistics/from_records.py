"""From records to what the other modules take: keyed scores, log scores by order, runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from beeline.records import Record
from beeline.statistics.censored import Run
from beeline.statistics.clusters import Key

__all__ = ["layout", "runs", "scores"]


def scores(records: Iterable[Record], arm: str = "model") -> dict[Key, float]:
    """Scores of an arm by (domain, trial, repeat); records without the arm are passed over.

    The records are those of one condition: raises ValueError when a key comes twice.
    """
    found: dict[Key, float] = {}
    for record in records:
        if arm in record.arms:
            key = (record.domain, record.trial, record.repeat)
            if key in found:
                raise ValueError(f"{key} comes twice: give the records of one condition")
            found[key] = float(record.arms[arm]["score"])
    return found


def runs(records: Iterable[Record], arm: str = "model") -> list[Run]:
    """What :mod:`.censored` needs, of the records of one domain and condition, first repeats only."""
    return [
        Run(
            trial=record.trial,
            score=float(record.arms[arm]["score"]),
            solved=record.arms[arm].get("solved") is True,
            expansions=int(record.arms[arm]["expansions"]),
            shortest_path=record.shortest_path,
            states_reachable=record.states_reachable,
        )
        for record in records
        if arm in record.arms and record.repeat == 1
    ]


def layout(
    conditions: Mapping[str, Mapping[Key, float]],
) -> tuple[list[tuple[str, int]], NDArray[np.float64]]:
    """Log scores as :mod:`.variance` takes them, and the (domain, trial) of each row.

    ``conditions`` holds keyed scores by the name of an order. Repeats are those numbers that any
    trial has; trials that lack an order or a repeat are left out.
    """
    orders = list(conditions.values())
    repeats = sorted({key[2] for order in orders for key in order})
    trials = sorted({key[:2] for order in orders for key in order})

    def whole(trial: tuple[str, int]) -> bool:
        return all((*trial, repeat) in order for order in orders for repeat in repeats)

    kept = [trial for trial in trials if whole(trial)]
    values = [[_logs(order, trial, repeats) for order in orders] for trial in kept]
    return kept, np.array(values, dtype=np.float64).reshape(len(kept), len(orders), len(repeats))


def _logs(order: Mapping[Key, float], trial: tuple[str, int], repeats: Sequence[int]) -> list[float]:
    return [math.log(order[*trial, repeat]) for repeat in repeats]
