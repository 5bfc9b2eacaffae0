"""What a failed reply means: whether to try again, when, and how to say why.

Retried: 408, 429 and every 5xx (524 and 529 included). Never retried: everything else, and a 429
that says the credit or the daily allocation is used up. A host's hint wins over our own wait:
``retry-after-ms`` first, then ``Retry-After`` as seconds or as an HTTP date; no hint is normal.

Error bodies come in four shapes (``detail`` as object or list, ``error``, ``errors``), as HTML
or empty; each becomes one short clean sentence.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

__all__ = ["Verdict", "clean", "explain", "hinted_wait", "judge", "says_refusal"]

#: Parts of a 429 body that mean: waiting will not help (OpenAI's code, Cloudflare's sentence and codes).
_CREDIT = re.compile(rb'insufficient_quota|free allocation|"code"\s*:\s*"?(?:3036|4006)\b', re.IGNORECASE)
#: Statuses under which a host reports that a model declined (502: a gateway hands on what its provider
#: said). Never those about keys, credit, addresses, size or rate, whatever their body says.
_REFUSING = frozenset((400, 403, 409, 422, 424, 451, 502))
_REFUSAL_CODES = re.compile(
    r"(model_)?refus(al|ed)|content_(filter(ed)?|polic(y|y_violation)|moderation|blocked|management_policy)"
    r"|moderation(_blocked|_error|_flagged|_required)?|safety(_violation|_blocked|_refusal)?|policy_violation"
    r"|responsible_?ai_?policy_?violation|prompt_blocked|input_flagged|flagged_input",
    re.IGNORECASE,
)
_REFUSAL_WORDS = re.compile(
    r"\bmodel (has )?(refused|declined)\b|\brefus(ed|es) to (answer|respond|decide)\b"
    r"|\bdeclined to (answer|respond|decide)\b|\b(answer|response|result|output) (was|is) an? refusal\b"
    r"|\breturned a refusal\b|\b(input|prompt|request|content) (was|is|has been) flagged\b"
    r"|\bmoderation\b.{0,80}\b(flagged|blocked|rejected)\b"
    r"|\b(flagged|blocked|rejected) by .{0,40}\bmoderation\b"
    r"|\bviolat\w+ .{0,60}\b(content|usage|safety) polic|\b(filtered|blocked|triggering) .{0,80}"
    r"\bcontent (filter|policy|management policy)\b",
    re.IGNORECASE | re.DOTALL,
)
#: Words of an error that is about who asks or how, not about what is asked.
_WHO_ASKS = re.compile(
    r"api[ _-]?key|authenti|authori[sz]|credential|permission|forbidden|bearer|\btoken (is|was)|billing"
    r"|credit|quota|subscription|verif(y|ication)|country|region|support|unknown|parameter|field",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
#: Enough for any sentence; the rest of a long body is not looked at.
_LOOKED_AT = 20_000
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do about a status that is not 2xx."""

    retry: bool
    wait: float | None
    """Seconds the host asks us to wait; None when it does not say."""
    reason: str
    """Status and the body's own words, on one line."""


def judge(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Verdict:
    """Judge a reply. ``headers`` is looked up by lower-case name; ``now`` is Unix time."""
    credit = status == 429 and _CREDIT.search(body[:_LOOKED_AT]) is not None
    retry = (status in (408, 429) or 500 <= status <= 599) and not credit
    said = explain(body, headers.get("content-type", ""))
    return Verdict(retry, hinted_wait(headers, now) if retry else None, f"{_status(status)}: {said}")


def _status(status: int) -> str:
    extra = {524: "Timeout at the gateway", 529: "Overloaded"}
    try:
        phrase = extra.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return str(status)
    return f"{status} {phrase}"


def hinted_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by the reply's headers, 0 or more; None without a readable hint."""
    wait = _seconds(headers.get("retry-after-ms"))
    if wait is not None:
        return wait / 1000.0
    hint = headers.get("retry-after")
    wait = _seconds(hint)
    if wait is not None or hint is None:
        return wait
    try:
        date = parsedate_to_datetime(hint)
        # A date without a zone would be read in ours; HTTP dates are always UTC.
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(date.timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def explain(body: bytes, content_type: str = "") -> str:
    """The reason an error body gives, in one line of at most 300 characters."""
    if not body.strip():
        return "an empty body"
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    try:
        said = _from_json(json.loads(body[:_LOOKED_AT]))
    except (ValueError, RecursionError):
        said = None
    if said and (shown := clean(said)):
        return shown
    if "html" in content_type.lower() or text.lstrip()[:100].lower().startswith(("<!doctype html", "<html")):
        title = _TITLE.search(text)
        named = clean(html.unescape(title.group(1))) if title else ""
        return f"an HTML page titled {named!r}" if named else "an HTML page"
    return clean(text) or "a body without words"


def says_refusal(status: int, body: bytes) -> bool:
    """Whether an error reply means that the model declined this one question.

    Some hosts report a refusal as an API error (protocols.md 12.13). Such a question is counted as
    refused; everything else about 4xx ends the run, and a refusal that is tried again costs a question
    all its tries. So this is cautious: only a JSON error object
    whose own code, type or message says so, and nothing in it about keys, accounts or fields.
    """
    if status not in _REFUSING:
        return False
    try:
        parsed = json.loads(body[:_LOOKED_AT])
    except (ValueError, RecursionError):
        return False
    if not isinstance(parsed, dict):
        return False
    found: list[Any] = [parsed.get("error"), parsed.get("detail"), parsed]
    errors = parsed.get("errors")
    if isinstance(errors, list):
        found.extend(errors[:5])
    for error in found:
        if not isinstance(error, dict):
            continue
        codes = [error.get(key) for key in ("code", "type", "error_type")]
        message = error.get("message")
        if any(isinstance(code, str) and _REFUSAL_CODES.fullmatch(code) for code in codes):
            return True
        if isinstance(message, str) and _REFUSAL_WORDS.search(message[:2000]):
            return not any(isinstance(t, str) and _WHO_ASKS.search(t[:2000]) for t in (*codes, message))
    return False


def _from_json(body: Any) -> str | None:
    """The message in a parsed error body; None when it has none of the known shapes."""
    if not isinstance(body, dict):
        return None
    for key in ("detail", "error"):
        value = body.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, dict):
            return _from_object(value)
    for key in ("detail", "errors"):
        value = body.get(key)
        if isinstance(value, list) and value:
            return "; ".join(_from_item(item) for item in value[:5])
    # Vercel's TypeSafe route puts the object's keys at the top.
    return _from_object(body) if "message" in body or "error_type" in body else None


def _from_object(value: Mapping[str, Any]) -> str:
    parts = [value.get(key) for key in ("message", "error_type", "type", "code")]
    message, kind, second_kind, code = (p if isinstance(p, str | int) and p != "" else None for p in parts)
    label = code if code is not None else kind or second_kind
    if message is None:
        return str(kind or second_kind or code or json.dumps(value))
    return str(message) if label is None else f"{message} ({label})"


def _from_item(item: Any) -> str:
    """One entry of a list: FastAPI's ``loc`` and ``msg``, or Cloudflare's ``code`` and ``message``."""
    if not isinstance(item, dict):
        return str(item)
    if "msg" in item:
        place = item.get("loc")
        where = ".".join(str(part) for part in place) if isinstance(place, list) else ""
        return f"{where}: {item['msg']}" if where else str(item["msg"])
    return _from_object(item)


def clean(text: str, limit: int = _SHOWN) -> str:
    """``text`` on one line, without control characters or lone surrogates, cut at ``limit``."""
    text = text[: 4 * limit].encode("utf-8", "replace").decode("utf-8")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
