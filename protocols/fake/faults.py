"""The faults of the test server, each something that a public service was seen doing.

A fault is one small function that changes an :class:`Exchange`; its first docstring line is its
help. To add one, write the function and put it into the tuple at the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from time import time
from typing import Any, Literal

from beeline.draws import Draws
from beeline.errors import SettingError, nearest

__all__ = ["FAULTS", "Exchange", "Fault", "FaultPlan"]

Delivery = Literal["whole", "reset", "cut", "slow", "silent", "endless"]


@dataclass(slots=True)
class Exchange:
    """One request and the reply it would get; faults change the reply."""

    request: dict[str, Any]
    authorization: str
    reply: dict[str, Any]
    """The conforming reply, before it becomes bytes."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent in place of ``reply`` when set."""
    content_type: str = "application/json"
    delivery: Delivery = "whole"

    @property
    def choices(self) -> list[dict[str, Any]]:
        """The answers of type choice."""
        return [a for a in self.reply.get("answers", {}).values() if a.get("type") == "choice"]

    def fail(self, status: int, body: Any, **headers: str) -> None:
        """Reply with an error status and a JSON body."""
        self.status = status
        self.raw = json.dumps(body).encode()
        self.headers |= {name.replace("_", "-"): value for name, value in headers.items()}

    def page(self, status: int, title: str) -> None:
        """Reply with an HTML page."""
        self.status = status
        self.content_type = "text/html"
        self.raw = (
            f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{title}</body></html>".encode()
        )


Fault = Callable[[Exchange], None]


def _each_value(exchange: Exchange, change: Callable[[float], float]) -> None:
    for answer in exchange.choices:
        answer["probabilities"] = {name: change(p) for name, p in answer["probabilities"].items()}


# --- the probabilities ----------------------------------------------------------------------


def round2(exchange: Exchange) -> None:
    """Two decimals, as Jev: many ties, and sums far from 1 with many options."""
    _each_value(exchange, lambda p: round(p, 2))


def all_zero(exchange: Exchange) -> None:
    """Every probability 0.00: Jev with many near-equal options."""
    _each_value(exchange, lambda p: 0.0)


def nan(exchange: Exchange) -> None:
    """Every probability NaN, which is no JSON but parses in some languages."""
    _each_value(exchange, lambda p: float("nan"))


def sum_low(exchange: Exchange) -> None:
    """Probabilities that sum to 0.96."""
    _each_value(exchange, lambda p: p * 0.96)


def sum_high(exchange: Exchange) -> None:
    """Probabilities that sum to 1.18."""
    _each_value(exchange, lambda p: p * 1.18)


def empty_map(exchange: Exchange) -> None:
    """An answer whose probabilities are {}."""
    for answer in exchange.choices:
        answer["probabilities"] = {}


def foreign_names(exchange: Exchange) -> None:
    """Probabilities for options that nobody asked about."""
    for answer in exchange.choices:
        answer["probabilities"] = {f"other {i}": p for i, p in enumerate(answer["probabilities"].values())}
        answer["choice"] = "other 0"


def drop_option(exchange: Exchange) -> None:
    """The likeliest option is missing from the map."""
    for answer in exchange.choices:
        answer["probabilities"].pop(answer["choice"])


def extra_option(exchange: Exchange) -> None:
    """One more option than was asked, likelier than all others."""
    for answer in exchange.choices:
        answer["probabilities"]["none of these"] = 1.0


def reorder(exchange: Exchange) -> None:
    """Names in sorted order, integer-like ones first, as a JavaScript gateway returns them."""
    for answer in exchange.choices:
        items = answer["probabilities"].items()
        answer["probabilities"] = dict(
            sorted(
                items, key=lambda kv: (not kv[0].isdecimal(), int(kv[0]) if kv[0].isdecimal() else 0, kv[0])
            )
        )


def disagree(exchange: Exchange) -> None:
    """The reply's own choice is the least likely option."""
    for answer in exchange.choices:
        answer["choice"] = min(answer["probabilities"], key=answer["probabilities"].__getitem__)


def pairs(exchange: Exchange) -> None:
    """Probabilities as a list of pairs: the OpenAI shape on a System One path."""
    for answer in exchange.choices:
        answer["probabilities"] = [
            {"value": name, "probability": p} for name, p in answer["probabilities"].items()
        ]


def no_probabilities(exchange: Exchange) -> None:
    """A choice without probabilities."""
    for answer in exchange.choices:
        del answer["probabilities"]


def no_answer(exchange: Exchange) -> None:
    """A reply whose answers are {}."""
    exchange.reply["answers"] = {}


def refusal(exchange: Exchange) -> None:
    """Every answer is a refusal, with status 200 and usage."""
    exchange.reply["answers"] = {name: {"type": "refusal"} for name in exchange.reply["answers"]}


# --- the rest of the reply ------------------------------------------------------------------


def no_usage(exchange: Exchange) -> None:
    """No usage."""
    del exchange.reply["usage"]


def float_usage(exchange: Exchange) -> None:
    """Token counts as floats."""
    exchange.reply["usage"] = {name: float(n) for name, n in exchange.reply["usage"].items()}


def camel_usage(exchange: Exchange) -> None:
    """Usage in camelCase, as Vercel's gateway."""
    usage = exchange.reply["usage"]
    exchange.reply["usage"] = {"inputTokens": usage["input_tokens"], "outputTokens": usage["output_tokens"]}


def no_confidence(exchange: Exchange) -> None:
    """No confidence."""
    for answer in exchange.choices:
        del answer["confidence"]


def other_model(exchange: Exchange) -> None:
    """Another model answers than the one asked for."""
    exchange.reply["model"] = "another-model-2.0"


def dated_model(exchange: Exchange) -> None:
    """The model's name with the date of its build, as OpenRouter."""
    exchange.reply["model"] += "-20260917"


def no_model(exchange: Exchange) -> None:
    """The reply does not say which model answered."""
    del exchange.reply["model"]


def envelope(exchange: Exchange) -> None:
    """The reply inside Cloudflare's envelope."""
    exchange.reply = {"result": exchange.reply, "success": True, "errors": [], "messages": []}


def envelope_failed(exchange: Exchange) -> None:
    """Status 200 with an envelope that says it failed."""
    errors = [{"code": 5012, "message": "inference failed"}]
    exchange.reply = {"result": None, "success": False, "errors": errors, "messages": []}


def html(exchange: Exchange) -> None:
    """An HTML page with status 200."""
    exchange.page(200, "Welcome")


def empty_body(exchange: Exchange) -> None:
    """Status 200 and nothing else."""
    exchange.raw = b""


def broken_json(exchange: Exchange) -> None:
    """JSON that stops in the middle, as if it were all."""
    exchange.raw = json.dumps(exchange.reply).encode()[:-20]


def deep_json(exchange: Exchange) -> None:
    """A hundred thousand nested lists."""
    exchange.raw = b"[" * 100_000 + b"]" * 100_000


def error_200(exchange: Exchange) -> None:
    """Status 200 with an error object in place of the answers."""
    exchange.reply = {"error": {"code": 502, "message": "upstream had no answer"}}


# --- statuses -------------------------------------------------------------------------------


def _limit(message: str = "Too many requests") -> dict[str, Any]:
    return {"detail": {"error_type": "rate_limit_error", "message": message}}


def rate_limit(exchange: Exchange) -> None:
    """429 without a hint."""
    exchange.fail(429, _limit())


def rate_limit_ms(exchange: Exchange) -> None:
    """429 with retry-after-ms: 20, and a longer Retry-After that it overrules."""
    exchange.fail(429, _limit(), retry_after_ms="20", Retry_After="60")


def rate_limit_seconds(exchange: Exchange) -> None:
    """429 with Retry-After: 1."""
    exchange.fail(429, _limit(), Retry_After="1")


def rate_limit_date(exchange: Exchange) -> None:
    """429 with Retry-After as the date in a second."""
    exchange.fail(429, _limit(), Retry_After=formatdate(time() + 1, usegmt=True))


def rate_limit_day(exchange: Exchange) -> None:
    """429 that asks to come back tomorrow."""
    exchange.fail(429, _limit(), Retry_After="86400")


def credit(exchange: Exchange) -> None:
    """429 because the credit is used up (OpenAI)."""
    error = {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": None}
    exchange.fail(429, {"error": error | {"code": "insufficient_quota"}})


def allocation(exchange: Exchange) -> None:
    """429 because the daily allocation is used up (Cloudflare)."""
    message = "you have used up your daily free allocation of 10,000 neurons"
    exchange.fail(429, {"result": None, "success": False, "errors": [{"code": 4006, "message": message}]})


def overloaded(exchange: Exchange) -> None:
    """529."""
    exchange.fail(529, {"detail": {"error_type": "overloaded_error", "message": "Overloaded"}})


def server_error(exchange: Exchange) -> None:
    """500 with an HTML page."""
    exchange.page(500, "Internal Server Error")


def gateway_timeout(exchange: Exchange) -> None:
    """504 with an HTML page, as Perplexity."""
    exchange.page(504, "504 Gateway Time-out")


def gateway_524(exchange: Exchange) -> None:
    """524 with an HTML page, as Cloudflare in front of OpenRouter."""
    exchange.page(524, "A timeout occurred")


def too_many_tokens(exchange: Exchange) -> None:
    """400 without a message, as Jev above its token limit."""
    exchange.fail(400, {"detail": {"error_type": "max_tokens_exceeded"}})


def unprocessable(exchange: Exchange) -> None:
    """422 with a detail list: a server that takes only 26 options."""
    where = ["body", "questions", "choose", "criteria"]
    exchange.fail(422, {"detail": [{"loc": where, "msg": "at most 26 options", "type": "too_long"}]})


def wrong_key(exchange: Exchange) -> None:
    """401 that repeats the key it was sent."""
    said = f"Incorrect API key provided: {exchange.authorization.removeprefix('Bearer ')}"
    exchange.fail(
        401, {"error": {"message": said, "type": "authentication_error", "code": "invalid_api_key"}}
    )


def no_credit(exchange: Exchange) -> None:
    """402, as OpenRouter."""
    exchange.fail(402, {"error": {"code": 402, "message": "Insufficient credits"}})


def unknown_model(exchange: Exchange) -> None:
    """400 for the model's name."""
    exchange.fail(400, {"error": {"code": 400, "message": f"{exchange.request['model']} does not exist"}})


def empty_405(exchange: Exchange) -> None:
    """405 with an empty body, as Perplexity."""
    exchange.status, exchange.raw = 405, b""


def moved(exchange: Exchange) -> None:
    """A redirect to another host."""
    exchange.status, exchange.raw = 307, b""
    exchange.headers["Location"] = "http://127.0.0.1:9/elsewhere"


# --- the connection -------------------------------------------------------------------------


def reset(exchange: Exchange) -> None:
    """The connection is reset instead of a reply."""
    exchange.delivery = "reset"


def cut_body(exchange: Exchange) -> None:
    """The connection ends in the middle of the body."""
    exchange.delivery = "cut"


def slow_body(exchange: Exchange) -> None:
    """The body trickles in over two seconds."""
    exchange.delivery = "slow"


def silent(exchange: Exchange) -> None:
    """The request is taken, and no reply ever comes."""
    exchange.delivery = "silent"


def huge_body(exchange: Exchange) -> None:
    """A body of 1 GB."""
    exchange.delivery = "endless"


#: Every fault by name, in the order of --help.
FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        *(round2, all_zero, nan, sum_low, sum_high, empty_map, foreign_names, drop_option, extra_option),
        *(reorder, disagree, pairs, no_probabilities, no_answer, refusal),
        *(no_usage, float_usage, camel_usage, no_confidence, other_model, dated_model, no_model),
        *(envelope, envelope_failed, html, empty_body, broken_json, deep_json, error_200),
        *(rate_limit, rate_limit_ms, rate_limit_seconds, rate_limit_date, rate_limit_day, credit, allocation),
        *(overloaded, server_error, gateway_timeout, gateway_524, too_many_tokens, unprocessable),
        *(wrong_key, no_credit, unknown_model, empty_405, moved),
        *(reset, cut_body, slow_body, silent, huge_body),
    )
}

_PLAN = re.compile(r"(?P<name>[a-z0-9_]+)(:(?P<share>[0-9.]+)|@(?P<first>[0-9]+))?")


class FaultPlan:
    """When a fault strikes: ``NAME`` always, ``NAME:0.1`` for that share of requests (seeded
    draws by request number), ``NAME@3`` for the first three."""

    def __init__(self, text: str) -> None:
        match = _PLAN.fullmatch(text)
        name = match["name"] if match else text
        if match is None or name not in FAULTS:
            raise SettingError(f"there is no fault {name}: {nearest(name, FAULTS)}")
        self.fault = FAULTS[name]
        self._first = int(match["first"]) if match["first"] else None
        try:
            self._share = float(match["share"]) if match["share"] else 1.0
        except ValueError:
            self._share = -1.0
        if not 0.0 <= self._share <= 1.0:
            raise SettingError(f"--fault {text}: the share must be a number from 0 to 1")
        self._draws = Draws("fake", name)
        self._asked = 0

    def strikes(self) -> bool:
        """Whether the next request is hit; call once a request."""
        self._asked += 1
        if self._first is not None:
            return self._asked <= self._first
        return self._share == 1.0 or self._draws.random() < self._share

    @classmethod
    def parse(cls, texts: Sequence[str]) -> list[FaultPlan]:
        """One plan a text; raises SettingError for an unknown name."""
        return [cls(text) for text in texts]
