"""OpenAI Decisions: questions as a list, probabilities as pairs, refusals as answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocols.fake.asked import Asked, Kind, Problem, RefusedError, bearer
from protocols.fake.exchange import Exchange

__all__ = ["DECISIONS", "Decisions", "is_openai", "openai_error"]

_FIELDS = frozenset(
    {"model", "input", "questions", "prompt_cache_key", "prompt_cache_options", "safety_identifier"}
)
_KINDS: dict[str, Kind] = {"predicate": "noul", "choice": "choice", "score": "score"}
_TYPES = {kind: name for name, kind in _KINDS.items()}


def is_openai(body: Any) -> bool:
    """Whether a body on /v1/decisions is OpenAI's and not System One: the path does not tell."""
    return not isinstance(body, dict) or "state" not in body


def openai_error(problem: Problem) -> dict[str, Any]:
    """``error`` with message, type, param and code."""
    kinds = {"key": "invalid_request_error", "rate": "rate_limit_error", "credit": "insufficient_quota"}
    codes = {
        "key": "invalid_api_key",
        "credit": "insufficient_quota",
        "rate": "rate_limit_exceeded",
        "model": "model_not_found",
        "refusal": "content_policy_violation",
        "tokens": "context_length_exceeded",
    }
    kind = kinds.get(problem.kind) or ("server_error" if problem.status >= 500 else "invalid_request_error")
    code = problem.code if isinstance(problem.code, str) else codes.get(problem.kind)
    param = _param(problem) or None
    return {"error": {"message": problem.message, "type": kind, "param": param, "code": code}}


def _param(problem: Problem) -> str:
    if problem.kind == "model":
        return "model"
    text = ""
    for part in problem.place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class Decisions:
    """The endpoint."""

    name = "openai"
    no_key_status, wrong_key_status, json_status = 401, 401, 400
    default_model = ""

    def key(self, headers: Mapping[str, str]) -> str:
        """The bearer token."""
        return bearer(headers)

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """By section 3.1 of the contract; 400 for anything else."""
        if not isinstance(body, dict):
            raise RefusedError.at(400, [], "The body must be a JSON object.")
        if unknown := [name for name in body if name not in _FIELDS]:
            raise RefusedError.at(
                400, [unknown[0]], f"Unknown parameter: '{unknown[0]}'.", "unknown_parameter"
            )
        for name in ("model", "input", "questions"):
            if name not in body:
                raise RefusedError.at(
                    400, [name], f"Missing required parameter: '{name}'.", "missing_required_parameter"
                )
        if not isinstance(body["model"], str) or not body["model"]:
            raise _wrong(["model"], "a non-empty string")
        _check_input(body["input"])
        questions = body["questions"]
        if not isinstance(questions, list) or not 1 <= len(questions) <= 400:
            raise _wrong(["questions"], "a list of 1 to 400 questions")
        return tuple(_question(i, question) for i, question in enumerate(questions))

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """The canonical reply as lists."""
        reply = exchange.reply
        answers = reply.get("answers", {})
        written = [_answer(q, answers[q.id]) for q in exchange.asked if q.id in answers]
        whole: dict[str, Any] = {"model": reply["model"]} if "model" in reply else {}
        whole["answers"] = written
        if "usage" in reply:
            tokens = reply["usage"]["input_tokens"]
            whole["usage"] = {
                "input_tokens": tokens,
                "input_tokens_details": {
                    "cached_tokens": int(tokens * exchange.cached),
                    "cache_write_tokens": 0,
                },
                "output_tokens": 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens,
            }
        return whole

    def error(self, problem: Problem) -> Any:
        """OpenAI's."""
        return openai_error(problem)

    def headers(self, number: int) -> dict[str, str]:
        """A request id."""
        return {"x-request-id": f"req_fake{number}"}


def _wrong(place: list[str | int], wanted: str) -> RefusedError:
    return RefusedError.at(400, place, f"Invalid value: expected {wanted}.", "invalid_value")


def _check_input(value: Any) -> None:
    if isinstance(value, str):
        return
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise _wrong(["input"], "a string or a list of messages")
    for i, item in enumerate(value):
        roles = ("user", "developer", "system", "assistant")
        if item.get("type", "message") == "message" and item.get("role") not in roles:
            raise _wrong(["input", i, "role"], f"one of {', '.join(roles)}")


def _question(i: int, question: Any) -> Asked:
    place: list[str | int] = ["questions", i]
    if not isinstance(question, dict) or question.get("type") not in list(_KINDS):
        raise _wrong([*place, "type"], f"one of {', '.join(_KINDS)}")
    said, name = question.get("instructions"), question.get("name")
    if not isinstance(said, str | list) or not said:
        raise _wrong([*place, "instructions"], "a non-empty string or a list of parts")
    if name is not None and not isinstance(name, str):
        raise _wrong([*place, "name"], "a string")
    kind = _KINDS[question["type"]]
    if kind == "choice":
        values = _choices(question.get("choices"), [*place, "choices"])
        return Asked(str(i), kind, tuple(values), str(said), name, values)
    if kind == "score":
        levels = question.get("levels")
        if not isinstance(levels, list) or not 2 <= len(levels) <= 10:
            raise _wrong([*place, "levels"], "2 to 10 levels")
        if not all(isinstance(x, dict) and isinstance(x.get("label"), str) for x in levels):
            raise _wrong([*place, "levels"], "levels with a label each")
        return Asked(str(i), kind, tuple(x["label"] for x in levels), str(said), name)
    return Asked(str(i), kind, (), str(said), name)


def _choices(choices: Any, place: list[str | int]) -> dict[str, Any]:
    """Names and values. A boolean and a string with the same text are different values."""
    if not isinstance(choices, list) or not 2 <= len(choices) <= 255:
        raise _wrong(place, "2 to 255 choices")
    values: dict[str, Any] = {}
    for i, item in enumerate(choices):
        value = item.get("value") if isinstance(item, dict) else None
        if not isinstance(value, str | bool):
            raise _wrong([*place, i, "value"], "a string or a boolean")
        if not isinstance(item.get("description", ""), str):
            raise _wrong([*place, i, "description"], "a string")
        name = value if isinstance(value, str) else f"{str(value).lower()} (boolean)"
        if name in values:
            raise _wrong([*place, i, "value"], "every value once")
        values[name] = value
    return values


def _answer(asked: Asked, answer: dict[str, Any]) -> dict[str, Any]:
    if answer.get("type") == "refusal":
        return {"type": "refusal", "name": asked.name}
    written: dict[str, Any] = {"type": _TYPES[asked.kind], "name": asked.name}
    if asked.kind == "noul":
        return written | {"probability": answer["noul"]}
    if asked.kind == "choice":
        if "choice" in answer:
            written["choice"] = asked.values.get(answer["choice"], answer["choice"])
    else:
        written["score"] = answer["score"]
    if "confidence" in answer:
        written["confidence"] = answer["confidence"]
    if "probabilities" in answer:
        pairs = answer["probabilities"].items()
        written["probabilities"] = (
            [{"value": asked.values.get(name, name), "probability": p} for name, p in pairs]
            if asked.kind == "choice"
            else [{"value": int(i), "label": asked.options[int(i)], "probability": p} for i, p in pairs]
        )
    return written


DECISIONS = Decisions()
