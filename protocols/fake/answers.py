"""Conforming answers of the test server: what to refuse, and the probabilities.

The weight of an option is a checksum of its text, squared so that there are favourites; its
probability is its share of the sum. Weights are whole numbers, so the sum and every share are the
same in any order.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MAX_OPTIONS", "RefusedError", "answers_for", "check_request", "weight"]

MAX_OPTIONS = 255
_TYPES = ("choice", "noul", "score")
_weights: dict[str, int] = {}


class RefusedError(Exception):
    """The request is refused with this status and this JSON body."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body

    @classmethod
    def schema(cls, place: Sequence[str | int], message: str, kind: str = "value_error") -> RefusedError:
        """422 with a ``detail`` list."""
        return cls(422, {"detail": [{"loc": ["body", *place], "msg": message, "type": kind}]})

    @classmethod
    def usage(cls, status: int, kind: str, message: str) -> RefusedError:
        """A ``detail`` object."""
        return cls(status, {"detail": {"error_type": kind, "message": message}})


def weight(option: str) -> int:
    """A whole number from 1 to 10**10 that depends on the text alone."""
    found = _weights.get(option)
    if found is None:
        if len(_weights) >= 100_000:
            _weights.clear()
        found = _weights[option] = (zlib.crc32(option.encode("utf-8", "surrogatepass")) % 100_000 + 1) ** 2
    return found


def check_request(body: Any) -> None:
    """Raise RefusedError unless ``body`` is a System One request; unknown fields are ignored."""
    if not isinstance(body, dict):
        raise RefusedError.schema([], "Input should be a valid object", "model_attributes_type")
    for name in ("model", "state", "questions"):
        if name not in body:
            raise RefusedError.schema([name], "Field required", "missing")
    if not isinstance(body["model"], str) or not body["model"]:
        raise RefusedError.schema(["model"], "Input should be a valid string", "string_type")
    if not isinstance(body["state"], str | dict | list):
        raise RefusedError.schema(["state"], "Input should be a string, object or array")
    questions = body["questions"]
    if not isinstance(questions, dict) or not questions:
        raise RefusedError.schema(["questions"], "Input should be an object with at least one question")
    for name, question in questions.items():
        _check_question(name, question)


def _check_question(name: str, question: Any) -> None:
    place = ["questions", name]
    if not isinstance(question, dict) or question.get("type") not in _TYPES:
        raise RefusedError.schema([*place, "type"], f"Input should be one of {', '.join(_TYPES)}", "enum")
    criteria = question.get("criteria")
    if question["type"] == "choice":
        if not isinstance(criteria, dict) or not criteria:
            raise RefusedError.schema([*place, "criteria"], "Input should be an object with options")
        if len(criteria) > MAX_OPTIONS:
            raise RefusedError.schema([*place, "criteria"], f"A choice takes at most {MAX_OPTIONS} options")
    if question["type"] == "score" and not (isinstance(criteria, list) and 2 <= len(criteria) <= 10):
        raise RefusedError.schema([*place, "criteria"], "Input should be a list of 2 to 10 levels")


def answers_for(questions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One answer a question, with the same id."""
    return {name: _answer(question) for name, question in questions.items()}


def _answer(question: Mapping[str, Any]) -> dict[str, Any]:
    if question["type"] == "choice":
        shares = _shares(list(question["criteria"]))
        choice = max(shares, key=shares.__getitem__)
        return {
            "type": "choice",
            "choice": choice,
            "confidence": _confidence(len(shares), shares[choice]),
            "probabilities": shares,
        }
    if question["type"] == "noul":
        return {"type": "noul", "noul": weight(str(question.get("instructions"))) / 10**10}
    levels = [str(level) for level in question["criteria"]]
    weights = [weight(level) for level in levels]
    probabilities = [w / sum(weights) for w in weights]
    return {
        "type": "score",
        "score": sum(i * p for i, p in enumerate(probabilities)),
        "confidence": _confidence(len(levels), max(probabilities)),
        "legend": {str(i): level for i, level in enumerate(levels)},
        "probabilities": {str(i): p for i, p in enumerate(probabilities)},
    }


def _shares(options: list[str]) -> dict[str, float]:
    weights = [weight(option) for option in options]
    total = sum(weights)
    return {option: w / total for option, w in zip(options, weights, strict=True)}


def _confidence(options: int, most: float) -> float:
    """Jev's: 0 for a uniform answer, 1 for a unanimous one."""
    return 1.0 if options == 1 else (most - 1 / options) / (1 - 1 / options)
