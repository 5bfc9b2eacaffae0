"""What a served function returns, and the reply that is made of it.

For one body a function returns a mapping from question id to result, one for every question
(or a whole reply: a mapping with that mapping under ``answers`` and perhaps ``usage``). A result:

========  ==============================================================================
choice    * weights, a mapping from option to number (a missing option weighs 0) or a list in
            the order of ``criteria``: finite, not below 0, not all 0; divided by their sum
          * a text: that option, for certain
          * an answer, ``{"probabilities": weights, "choice"?, "confidence"?}``: kept as it is
score     * weights, a list in the order of the levels or a mapping from level (0, "0") to number
          * an answer, ``{"probabilities": weights, "score"?, "confidence"?}``: kept as it is
noul      * the probability of yes, 0 to 1 (True and False will do)
          * an answer, ``{"noul": probability}``
========  ==============================================================================

Lists may be numpy arrays. In an answer, fields whose names begin with ``x_`` are passed on.
Confidence, where the function gives none, is Jev's: with n options and largest probability m,
(m - 1/n) / (1 - 1/n); for a score 1 - sum(p_i |i - k|) / D with k the likeliest level and D the mean
distance of a level from the middle, never below 0 (protocol reference, section 2.5). The winner
is the likeliest, of equal ones the first in the request, before any rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Senseless", "reply_for"]

Rounding = Callable[[float], float]


class Senseless(Exception):
    """The function returned what is no answer; the text says which part, for the log."""


def reply_for(
    body: Mapping[str, Any], returned: Any, model: str, digits: int | None = None
) -> dict[str, Any]:
    """The reply to a checked ``body``; raises Senseless."""
    questions: Mapping[str, Mapping[str, Any]] = body["questions"]
    if not isinstance(returned, Mapping):
        raise Senseless(f"it returned {_kind(returned)}, not a mapping from question id to result")
    results, usage = returned, None
    if returned.keys() != questions.keys() and isinstance(returned.get("answers"), Mapping):
        results, usage = returned["answers"], returned.get("usage")
    for name in questions:
        if name not in results:
            raise Senseless(f"it returned no result for the question {name!r}")
    for name in results:
        if name not in questions:
            raise Senseless(f"it returned a result for {name!r}, which is no question of this request")

    def rounded(number: float) -> float:
        return number if digits is None else round(number, digits)

    answers = {}
    for name, question in questions.items():
        try:
            answers[name] = _ANSWER[question["type"]](question, results[name], rounded)
        except Senseless as error:
            raise Senseless(f"its result for the question {name!r} {error}") from None
    return {"model": model, "answers": answers, "usage": _usage(usage)}


def _usage(given: Any) -> dict[str, int]:
    """Whole numbers; 0 where the function counts no tokens."""
    counts = given if isinstance(given, Mapping) else {}
    usage = {}
    for name in ("input_tokens", "output_tokens"):
        count = _number(counts.get(name, 0), f"usage.{name}")
        if count < 0 or count != int(count):
            raise Senseless(f"its usage.{name} is {count:g}, not a count")
        usage[name] = int(count)
    return usage


def _choice(question: Mapping[str, Any], result: Any, rounded: Rounding) -> dict[str, Any]:
    options = list(question["criteria"])
    if isinstance(result, str):
        if result not in question["criteria"]:
            raise Senseless(f"is {result!r}, which is no option")
        result = {result: 1.0}
    answer = _as_answer(result)
    given = result if answer is None else answer["probabilities"]
    probabilities = _weights(given, options, question["criteria"], "option", keep=answer is not None)
    best = probabilities.index(max(probabilities))
    choice = options[best] if answer is None else answer.get("choice", options[best])
    if not isinstance(choice, str) or choice not in question["criteria"]:
        raise Senseless(f"names {choice!r} as its choice, which is no option")
    n, most = len(options), probabilities[best]
    confidence = 1.0 if n == 1 else max(0.0, (most - 1 / n) / (1 - 1 / n))
    return {
        "type": "choice",
        "choice": choice,
        "confidence": rounded(_given(answer, "confidence", confidence, 1)),
        "probabilities": {o: rounded(p) for o, p in zip(options, probabilities, strict=True)},
        **_more(answer),
    }


def _score(question: Mapping[str, Any], result: Any, rounded: Rounding) -> dict[str, Any]:
    levels = [str(i) for i in range(len(question["criteria"]))]
    answer = _as_answer(result)
    given = result if answer is None else answer["probabilities"]
    if isinstance(given, Mapping):
        given = {str(level): weight for level, weight in given.items()}
    probabilities = _weights(given, levels, dict.fromkeys(levels), "level", keep=answer is not None)
    n, best = len(levels), probabilities.index(max(probabilities))
    expected = math.fsum(i * p for i, p in enumerate(probabilities))
    spread = math.fsum(p * abs(i - best) for i, p in enumerate(probabilities))
    uniform = math.fsum(abs(i - (n - 1) / 2) for i in range(n)) / n
    return {
        "type": "score",
        "score": rounded(_given(answer, "score", expected, n - 1)),
        "confidence": rounded(_given(answer, "confidence", max(0.0, 1 - spread / uniform), 1)),
        "legend": dict(zip(levels, question["criteria"], strict=True)),
        "probabilities": {level: rounded(p) for level, p in zip(levels, probabilities, strict=True)},
        **_more(answer),
    }


def _noul(question: Mapping[str, Any], result: Any, rounded: Rounding) -> dict[str, Any]:
    answer = result if isinstance(result, Mapping) else None
    if answer is not None and "noul" not in answer:
        raise Senseless("is a mapping without noul")
    yes = _number(result if answer is None else answer["noul"], "noul")
    if not 0 <= yes <= 1:
        raise Senseless(f"is {yes:g}, not a probability")
    return {"type": "noul", "noul": rounded(yes), **_more(answer)}


_ANSWER = {"choice": _choice, "score": _score, "noul": _noul}


def _as_answer(result: Any) -> Mapping[str, Any] | None:
    """``result`` if it is an answer: an option may be called "probabilities", but weighs a number."""
    if isinstance(result, Mapping) and isinstance(_listed(result.get("probabilities")), Mapping | Sequence):
        return result
    return None


def _more(answer: Mapping[str, Any] | None) -> dict[str, Any]:
    return {k: v for k, v in (answer or {}).items() if isinstance(k, str) and k.startswith("x_")}


def _given(answer: Mapping[str, Any] | None, name: str, otherwise: float, most: float) -> float:
    if answer is None or answer.get(name) is None:
        return otherwise
    number = _number(answer[name], name)
    if not 0 <= number <= most:
        raise Senseless(f"has {name}={number:g}, outside 0 to {most:g}")
    return number


def _weights(
    given: Any, names: Sequence[str], known: Mapping[str, Any], noun: str, keep: bool
) -> list[float]:
    """One probability a name; ``keep`` takes them as they are instead of dividing by their sum."""
    given = _listed(given)
    if isinstance(given, Mapping):
        for name in given:
            if name not in known:
                raise Senseless(f"gives a weight to {name!r}, which is no {noun}")
        given = [given.get(name, 0.0) for name in names]
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise Senseless(f"is {_kind(given)}, not weights")
    if len(given) != len(names):
        raise Senseless(f"has {len(given)} weights for {len(names)} {noun}s")
    weights = [_number(w, f"the weight of the {noun} {n!r}") for n, w in zip(names, given, strict=True)]
    for name, weight in zip(names, weights, strict=True):
        if weight < 0 or (keep and weight > 1):
            raise Senseless(
                f"gives the {noun} {name!r} {weight:g}, which is no {'probability' if keep else 'weight'}"
            )
    if keep:
        return weights
    largest = max(weights)
    if largest == 0:
        raise Senseless(f"weighs every {noun} 0")
    total = math.fsum(w / largest for w in weights)  # cannot overflow
    if math.isclose(total * largest, 1.0, rel_tol=1e-9):
        return [min(1.0, w) for w in weights]  # probabilities already: not a digit is changed
    return [w / largest / total for w in weights]


def _listed(value: Any) -> Any:
    """Arrays (numpy and its kin) as lists."""
    as_list = getattr(value, "tolist", None)
    return as_list() if callable(as_list) else value


def _number(value: Any, what: str) -> float:
    if not isinstance(value, str | bytes):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            pass
        else:
            if math.isfinite(number):
                return number
    raise Senseless(f"has {what} = {value!r:.60}, which is no finite number")


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
