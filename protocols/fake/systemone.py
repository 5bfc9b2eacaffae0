"""The System One shape: Jev itself, OpenRouter, Perplexity. (Cloudflare has its own module.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocols.fake.asked import Asked, Problem, RefusedError, bearer
from protocols.fake.exchange import Exchange

__all__ = ["JEV", "OPENROUTER", "PERPLEXITY", "Jev", "OpenRouter", "Perplexity", "Rules", "read_questions"]

_TYPES = ("choice", "noul", "score")


@dataclass(frozen=True, slots=True)
class Rules:
    """Where the hosts that speak System One differ in what they take."""

    status: int = 422
    fields: frozenset[str] | None = None
    """The top-level fields; None: unknown ones are ignored."""
    options: tuple[int, int] = (1, 255)
    levels: tuple[int, int] = (2, 10)
    questions: int | None = None
    instructions: bool = False
    """They must be there and not be empty."""
    names: bool = False
    """Ids and option names must not be empty."""


def read_questions(body: Any, rules: Rules) -> tuple[Asked, ...]:
    """The questions of a System One request; raises RefusedError for anything else."""
    if not isinstance(body, dict):
        raise RefusedError.at(rules.status, [], "Input should be a valid object")
    for name in ("model", "state", "questions"):
        if name not in body:
            raise RefusedError.at(rules.status, [name], "Field required")
    if rules.fields is not None and (unknown := [name for name in body if name not in rules.fields]):
        raise RefusedError.at(rules.status, [unknown[0]], "Unknown field")
    if not isinstance(body["model"], str) or not body["model"]:
        raise RefusedError.at(rules.status, ["model"], "Input should be a valid string")
    if not isinstance(body["state"], str | dict | list):
        raise RefusedError.at(rules.status, ["state"], "Input should be a string, object or array")
    questions = body["questions"]
    if not isinstance(questions, dict) or not questions:
        raise RefusedError.at(
            rules.status, ["questions"], "Input should be an object with at least one question"
        )
    if rules.questions is not None and len(questions) > rules.questions:
        raise RefusedError.at(rules.status, ["questions"], f"At most {rules.questions} questions")
    return tuple(_question(name, question, rules) for name, question in questions.items())


def _question(name: str, question: Any, rules: Rules) -> Asked:
    place = ["questions", name]
    if rules.names and not name:
        raise RefusedError.at(rules.status, place, "An id must not be empty")
    if not isinstance(question, dict) or question.get("type") not in _TYPES:
        raise RefusedError.at(
            rules.status, [*place, "type"], f"Input should be one of {', '.join(_TYPES)}", "type"
        )
    kind, criteria, said = question["type"], question.get("criteria"), question.get("instructions")
    if rules.instructions and not said and not (kind == "noul" and criteria):
        raise RefusedError.at(rules.status, [*place, "instructions"], "Field required")
    if kind == "choice":
        return Asked(name, "choice", _options(criteria, [*place, "criteria"], rules), str(said))
    if kind == "score":
        low, high = rules.levels
        if not (isinstance(criteria, list) and low <= len(criteria) <= high):
            raise RefusedError.at(
                rules.status, [*place, "criteria"], f"Input should be a list of {low} to {high} levels"
            )
        return Asked(name, "score", tuple(map(str, criteria)), str(said))
    return Asked(name, "noul", (), str(said))


def _options(criteria: Any, place: list[str], rules: Rules) -> tuple[str, ...]:
    least, most = rules.options
    if not isinstance(criteria, dict) or not criteria:
        raise RefusedError.at(rules.status, place, "Input should be an object with options")
    if len(criteria) > most:
        raise RefusedError.at(rules.status, place, f"A choice takes at most {most} options")
    if len(criteria) < least:
        raise RefusedError.at(rules.status, place, f"A choice takes at least {least} options")
    if rules.names and "" in criteria:
        raise RefusedError.at(rules.status, place, "A name must not be empty")
    return tuple(criteria)


class Jev:
    """TypeSafe's own service, and every server that speaks its protocol."""

    name = "jev"
    no_key_status, wrong_key_status, json_status = 403, 401, 422
    default_model = ""
    decimals: int | None = None
    rules = Rules()

    def key(self, headers: Mapping[str, str]) -> str:
        """The bearer token."""
        return bearer(headers)

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """By the rules of the host."""
        return read_questions(body, self.rules)

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """The canonical reply as it is, but rounded."""
        if self.decimals is not None:
            for answer in exchange.maps:
                values = answer["probabilities"].items()
                answer["probabilities"] = {name: round(p, self.decimals) for name, p in values}
        return exchange.reply

    def error(self, problem: Problem) -> Any:
        """``detail``: a list for what is wrong in the body, else an object."""
        if problem.kind == "tokens":
            return {"detail": {"error_type": "max_tokens_exceeded"}}
        if problem.kind == "schema":
            item = {"loc": ["body", *problem.place], "msg": problem.message, "type": "value_error"}
            return {"detail": [item]}
        kinds = {"key": "authentication_error", "rate": "rate_limit_error", "overloaded": "overloaded_error"}
        kind = kinds.get(problem.kind, problem.kind if problem.status >= 404 else "api_usage_error")
        return {"detail": {"error_type": kind, "message": problem.message}}

    def headers(self, number: int) -> dict[str, str]:
        """A request id."""
        return {"x-typesafe-request-id": f"fake-{number}"}


#: Prices in dollars per million input tokens, for ``usage.cost``; others cost as Jev.
_PRICES = {"liquid/d1": 0.02, "inception/mercury-decide": 0.02, "openai/gpt-6-luna-decisions": 0.10}
_DATES = {
    "typesafe/jev-1.13": "20260917",
    "liquid/d1": "20260930",
    "jaredpalmer/kev-4b": "20260924",
    "inception/mercury-decide": "20260930",
    "openai/gpt-6-luna-decisions": "20261006",
}
_ALIASES = {"jev-1.13": "typesafe/jev-1.13", "jev-latest": "typesafe/jev-1.13"}
_MOVING = {"~typesafe/jev-latest": "typesafe/jev-1.13", "~liquid/d1-latest": "liquid/d1"}


class OpenRouter(Jev):
    """OpenRouter: id, provider, cost, dated names for the models it lists; a refusal is an error."""

    name = "openrouter"
    no_key_status, wrong_key_status, json_status = 401, 401, 400
    rules = Rules(status=400, instructions=True)

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """As Jev, and a tilde stands only before a moving name."""
        asked = read_questions(body, self.rules)
        if body["model"].startswith("~") and body["model"] not in _MOVING:
            raise RefusedError(Problem(400, "model", f"Model {body['model']} does not exist"))
        return asked

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """System One with OpenRouter's extras."""
        reply = exchange.reply
        if any(a.get("type") == "refusal" for a in reply.get("answers", {}).values()):
            exchange.status = 400
            return {"error": {"code": 400, "message": "The model refused to answer (content policy)"}}
        asked = exchange.request["model"]
        pinned = _MOVING.get(asked) or _ALIASES.get(asked) or asked
        if reply.get("model") == asked:
            reply["model"] = f"{pinned}-{_DATES[pinned]}" if pinned in _DATES else pinned
        usage = reply.get("usage")
        if usage is not None:
            usage["cost"] = usage["input_tokens"] * _PRICES.get(pinned, 0.042) / 1e6
        maker = pinned.partition("/")[0]
        return {"id": f"gen-dec-{exchange.number}", "provider": maker, **reply}

    def error(self, problem: Problem) -> Any:
        """``error`` with the status as its code."""
        where = ".".join(map(str, problem.place))
        message = f"{where}: {problem.message}" if where else problem.message
        return {"error": {"code": problem.status, "message": message}}

    def headers(self, number: int) -> dict[str, str]:
        """OpenRouter names a reply in its body."""
        return {}


class Perplexity(Jev):
    """Perplexity: System One on the path of OpenAI; takes exactly three fields."""

    name = "perplexity"
    no_key_status, wrong_key_status, json_status = 401, 401, 400
    rules = Rules(
        status=400,
        fields=frozenset({"model", "state", "questions"}),
        levels=(1, 10),
        questions=128,
        instructions=True,
        names=True,
    )

    def error(self, problem: Problem) -> Any:
        """``error`` with message, type and code."""
        kinds = {"schema": "invalid_request", "key": "unauthorized", "rate": "rate_limit_exceeded"}
        kind = kinds.get(problem.kind, problem.kind)
        error: dict[str, Any] = {"message": problem.message, "type": kind, "code": problem.status}
        if problem.place:
            error["param"] = ".".join(map(str, problem.place))
        return {"error": error}

    def headers(self, number: int) -> dict[str, str]:
        """A request id."""
        return {"x-request-id": f"fake-{number}"}


JEV, OPENROUTER, PERPLEXITY = Jev(), OpenRouter(), Perplexity()
