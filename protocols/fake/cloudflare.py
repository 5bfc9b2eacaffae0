"""Cloudflare Workers AI (Clef): System One inside an envelope, strict about names, four decimals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from protocols.fake.asked import Asked, Problem, RefusedError
from protocols.fake.exchange import Exchange
from protocols.fake.systemone import Jev, Rules, read_questions

__all__ = ["CLOUDFLARE", "Cloudflare"]

_MODELS = ("clef", "clef-flash", "clef-omni")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")
#: Bytes; the threshold once seen. Tokens are estimated as bytes / 4 before inference.
_MAX_BYTES = 524_288
_CODES: Mapping[str, int] = {
    "key": 10000,
    "rate": 3040,
    "allocation": 4006,
    "tokens": 5021,
    "too_large": 5021,
}


class Cloudflare(Jev):
    """The endpoint of one model; the last part of the path names it."""

    name = "cloudflare"
    no_key_status, wrong_key_status, json_status = 401, 401, 400
    default_model = "clef-flash"
    decimals: int | None = 4
    rules = Rules(
        status=422,
        fields=frozenset({"model", "state", "questions", "images"}),
        options=(2, 255),
        questions=64,
        instructions=True,
    )

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """By section 6 of the contract; without a ``model``, clef-flash answers."""
        maker, _, model = path.get("model", "").rpartition("/")
        if maker != "@cf/cloudflare" or model not in _MODELS:
            raise RefusedError(Problem(400, "schema", "No route for that URI", code=7000))
        if int(headers.get("Content-Length", 0)) > _MAX_BYTES:
            raise RefusedError(Problem(413, "too_large", "Request too large", code=5021))
        if isinstance(body, dict):
            if body.get("model", model) != model:
                raise self._invalid(f"model must be {model}, as in the address")
            body = {"model": self.default_model} | body
        asked = self._questions(body)
        for question in asked:
            if not _ID.fullmatch(question.id):
                raise self._invalid(f"question id {question.id!r} must match [A-Za-z0-9_.-]{{1,100}}")
            if question.kind == "choice" and (names := [o for o in question.options if "/" in o]):
                raise self._invalid(f"option name {names[0]!r} has an invalid character")
        return asked

    def _questions(self, body: Any) -> tuple[Asked, ...]:
        try:
            return read_questions(body, self.rules)
        except RefusedError as refused:
            problem = refused.problem
            if problem.code == "type" or tuple(problem.place) == ("questions",):
                raise RefusedError(Problem(400, "schema", problem.message, problem.place, 5006)) from None
            raise

    def _invalid(self, message: str) -> RefusedError:
        return RefusedError(Problem(422, "schema", message, code=5012))

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """What goes into the envelope: the largest probability as confidence, no output tokens."""
        for answer in exchange.maps:
            if "confidence" in answer:
                answer["confidence"] = round(max(answer["probabilities"].values()), 4)
        if exchange.reply.get("usage"):
            exchange.reply["usage"]["output_tokens"] = 0
        return super().write(exchange)

    def error(self, problem: Problem) -> Any:
        """The envelope of a failure."""
        code = problem.code if isinstance(problem.code, int) else _CODES.get(problem.kind, 5012)
        if problem.code == "json":
            code = 6003
        where = ".".join(map(str, problem.place))
        message = f"{where}: {problem.message}" if where else problem.message
        errors = [{"code": code, "message": message}]
        return {"result": None, "success": False, "errors": errors, "messages": []}

    def headers(self, number: int) -> dict[str, str]:
        """Two request ids."""
        return {"cf-ai-req-id": f"fake-{number}", "cf-ray": f"{number:016x}-FAK"}


CLOUDFLARE = Cloudflare()
