"""Gemini Decisions: maps like System One, but ``input``, its own names of usage, and blocked input.

The field names are those of the package google-genai 3.6.1; what neither that nor the contract says
is an assumption, listed in docs/fake.md.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from protocols.fake.asked import Asked, Problem, RefusedError, bearer
from protocols.fake.exchange import Exchange

__all__ = ["GEMINI", "Gemini", "google_error"]

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def google_error(problem: Problem) -> dict[str, Any]:
    """``error`` with the HTTP status, a message and Google's word for it."""
    where = ".".join(map(str, problem.place))
    message = f"{where}: {problem.message}" if where else problem.message
    status = _STATUSES.get(problem.status, "INTERNAL" if problem.status >= 500 else "FAILED_PRECONDITION")
    return {"error": {"code": problem.status, "message": message, "status": status}}


class Gemini:
    """The endpoint."""

    name = "gemini"
    # Google's own: 400 "API key not valid" for a wrong key.
    no_key_status, wrong_key_status, json_status = 403, 400, 400
    default_model = ""

    def key(self, headers: Mapping[str, str]) -> str:
        """x-goog-api-key, or a bearer token."""
        return headers.get("x-goog-api-key", "") or bearer(headers)

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """Exactly ``model``, ``input`` and ``questions``; 400 for anything else."""
        if not isinstance(body, dict):
            raise _wrong([], "must be an object")
        if unknown := [name for name in body if name not in ("model", "input", "questions")]:
            raise _wrong([unknown[0]], f'Unknown name "{unknown[0]}": Cannot find field.')
        if not isinstance(body.get("model"), str) or not body["model"].removeprefix("models/"):
            raise _wrong(["model"], "must be the name of a model")
        if not _is_content(body.get("input")):
            raise _wrong(["input"], "must be a text, a content or a list of contents, each with a type")
        questions = body.get("questions")
        if not isinstance(questions, dict) or not 1 <= len(questions) <= 1000:
            raise _wrong(["questions"], "must be a map of 1 to 1000 questions")
        return tuple(_question(name, question) for name, question in questions.items())

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """The canonical reply with Google's usage; a refused question blocks the whole input.

        The reply names no model, unless a fault has put another one there.
        """
        reply = exchange.reply
        answers = reply.get("answers", {})
        other = reply.get("model", exchange.request["model"]) != exchange.request["model"]
        written: dict[str, Any] = {"model": reply["model"]} if other else {}
        if any(answer.get("type") == "refusal" for answer in answers.values()):
            written["prompt_feedback"] = {"block_reason": "safety"}
        else:
            written["answers"] = {name: _answer(answer) for name, answer in answers.items()}
        if "usage" in reply:
            tokens = reply["usage"]["input_tokens"]
            written["usage"] = {
                "total_input_tokens": tokens,
                "total_cached_tokens": int(tokens * exchange.cached),
                "total_output_tokens": 0,
                "total_tokens": tokens,
            }
        return written

    def error(self, problem: Problem) -> Any:
        """Google's."""
        if problem.kind == "key" and problem.status == self.wrong_key_status:
            problem = Problem(400, "key", "API key not valid. Please pass a valid API key.")
        return google_error(problem)

    def headers(self, number: int) -> dict[str, str]:
        """None that anybody needs."""
        return {}


def _wrong(place: list[str], message: str) -> RefusedError:
    return RefusedError.at(400, place, message)


def _is_content(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and "type" in item for item in value)
    return "type" in value if isinstance(value, dict) else isinstance(value, str) and bool(value)


def _question(name: str, question: Any) -> Asked:
    place = ["questions", name]
    _check_name(name, place)
    if not isinstance(question, dict) or question.get("type") not in ("noul", "choice", "score"):
        raise _wrong([*place, "type"], "must be noul, choice or score")
    said, criteria, kind = question.get("instructions"), question.get("criteria"), question["type"]
    if not _is_content(said):
        raise _wrong([*place, "instructions"], "must be a text, a content or a list of contents")
    if kind == "noul":
        return Asked(name, "noul", (), str(said))
    if not isinstance(criteria, dict if kind == "choice" else list) or not 2 <= len(criteria) <= 255:
        raise _wrong([*place, "criteria"], "must have 2 to 255 entries")
    described = criteria.values() if isinstance(criteria, dict) else criteria
    if not all(isinstance(description, str) for description in described):
        raise _wrong([*place, "criteria"], "a description must be a string")
    if kind == "choice":
        for option in criteria:
            _check_name(option, [*place, "criteria"])
    elif "" in criteria:
        raise _wrong([*place, "criteria"], "a level must not be empty")
    return Asked(name, kind, tuple(criteria), str(said))


def _check_name(name: str, place: list[str]) -> None:
    if not name or name != name.strip():
        raise _wrong(place, "a name must not be empty nor begin or end with a blank")
    if any(unicodedata.category(c) == "Cc" for c in name):
        raise _wrong(place, "a name must have no control character")


def _answer(answer: dict[str, Any]) -> dict[str, Any]:
    """A noul within 0.01..0.99; confidence is the largest probability everywhere."""
    if answer.get("type") == "noul":
        yes = min(max(answer["noul"], 0.01), 0.99)
        return answer | {"noul": yes, "confidence": max(yes, 1 - yes)}
    if answer.get("probabilities") and "confidence" in answer:
        return answer | {"confidence": max(answer["probabilities"].values())}
    return answer


GEMINI = Gemini()
