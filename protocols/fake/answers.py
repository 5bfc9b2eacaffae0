"""Conforming answers of the test server.

The weight of an option is ``(crc32(text as UTF-8) mod 100000 + 1) ** 2``, squared so that there are
favourites; its probability is its share of the sum. Weights are whole numbers, so the sum and every
share are the same in any order. The likeliest option wins, of equal ones the first by code points:
answers depend on the option texts alone, not on their order, the state, the seed or the time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

from protocols.fake.asked import Asked

__all__ = ["answers_for", "confidence", "likeliest", "settle", "shares", "weight"]


class _Weights(dict[str, int]):
    """Remembered, because the options of a search come again and again; emptied when full."""

    def __missing__(self, option: str) -> int:
        if len(self) >= 100_000:
            self.clear()
        checksum = zlib.crc32(option.encode("utf-8", "surrogatepass"))
        found = self[option] = (checksum % 100_000 + 1) ** 2
        return found


_weights = _Weights()


def weight(option: str) -> int:
    """A whole number from 1 to 10**10 that depends on the text alone."""
    return _weights[option]


def shares(options: Iterable[str]) -> dict[str, float]:
    """Each option's share of the weights; the names in the order given."""
    names = list(options)
    weights = [_weights[name] for name in names]
    total = sum(weights)
    return {name: w / total for name, w in zip(names, weights, strict=True)}


def likeliest(probabilities: Mapping[str, float]) -> str:
    """The name with the largest value, of equal ones the first by code points; NaN is smallest."""
    most = max(probabilities.values())
    if isnan(most):  # it came first: nothing is larger than NaN
        most = max((p for p in probabilities.values() if not isnan(p)), default=0.0)
    return min([name for name, p in probabilities.items() if p == most] or probabilities)


def confidence(options: int, most: float) -> float:
    """Jev's: 0 for a uniform answer, 1 for a unanimous one."""
    return 1.0 if options == 1 else (most - 1 / options) / (1 - 1 / options)


def settle(answer: dict[str, Any], probabilities: dict[str, float]) -> None:
    """Give a choice new probabilities, and the ``choice`` and ``confidence`` that follow."""
    choice = likeliest(probabilities)
    answer["probabilities"] = probabilities
    answer["choice"] = choice
    if "confidence" in answer:
        answer["confidence"] = confidence(len(probabilities), probabilities[choice])


def answers_for(asked: Sequence[Asked]) -> dict[str, Any]:
    """One canonical answer a question, with the same id."""
    return {question.id: _answer(question) for question in asked}


def _answer(question: Asked) -> dict[str, Any]:
    if question.kind == "choice":
        answer: dict[str, Any] = {"type": "choice", "choice": "", "confidence": 0.0, "probabilities": {}}
        settle(answer, shares(question.options))
        return answer
    if question.kind == "noul":
        return {"type": "noul", "noul": weight(question.instructions) / 10**10}
    weights = [weight(level) for level in question.options]
    probabilities = [w / sum(weights) for w in weights]
    return {
        "type": "score",
        "score": sum(i * p for i, p in enumerate(probabilities)),
        "confidence": _score_confidence(probabilities),
        "legend": {str(i): level for i, level in enumerate(question.options)},
        "probabilities": {str(i): p for i, p in enumerate(probabilities)},
    }


def _score_confidence(probabilities: Sequence[float]) -> float:
    """Jev's for a score: 1 less the mean distance from the likeliest level, over a uniform one's."""
    n = len(probabilities)
    top = max(range(n), key=probabilities.__getitem__)
    away = sum(p * abs(i - top) for i, p in enumerate(probabilities))
    uniform = sum(abs(i - (n - 1) / 2) for i in range(n)) / n
    return max(0.0, 1 - away / uniform) if uniform else 1.0
