"""From the bytes of a request to a System One body that a function can rely on.

Whatever is wrong ends in a 4xx: nothing a client sends may crash the server or the function.
Names stay byte for byte what they were; unknown fields are ignored. A key that stands twice in
one object is refused: JSON readers keep the last silently, and an option would be lost. So are
NaN and numbers beyond a double, and more than 100 levels of nesting, which a recursive function
would die of.
"""

from __future__ import annotations

import io
import json
import math
import zlib
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from protocols.serve.refusals import Refused, Unfit

__all__ = ["MAX_DEPTH", "check", "decode", "parse"]

MAX_DEPTH = 100
MAX_LEVELS = 10
TYPES = ("choice", "noul", "score")

Complaint = tuple[list[str | int], str, str]


def decode(raw: bytes, encoding: str, most: int) -> bytes:
    """``raw`` without its Content-Encoding; at most ``most`` bytes come out.

    gzip and, where the package zstandard is installed, zstd. Raises Refused: 415 for another
    encoding, 400 for damaged bytes, 413 for more than ``most``.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return raw
    if encoding == "gzip":
        plain = _gunzip(raw, most)
    elif encoding == "zstd" and find_spec("zstandard") is not None:
        plain = _unzstd(raw, most)
    else:
        known = "gzip, zstd" if find_spec("zstandard") is not None else "gzip"
        raise Refused.because(
            415,
            "api_usage_error",
            f"Content-Encoding {encoding} is not understood; send the body plain or as {known}",
            Accept_Encoding=known,
        )
    if len(plain) > most:
        raise too_large(most)
    return plain


def too_large(most: int) -> Refused:
    """413."""
    return Refused.because(413, "request_too_large", f"A request may have at most {most} bytes")


def _gunzip(raw: bytes, most: int) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(raw, most + 1)
    except zlib.error:
        raise _damaged("gzip") from None
    if len(plain) <= most and (not unzip.eof or unzip.unused_data):
        raise _damaged("gzip")
    return plain


def _unzstd(raw: bytes, most: int) -> bytes:
    zstandard: Any = import_module("zstandard")
    # The window is memory that a few bytes of header can ask for.
    unzip = zstandard.ZstdDecompressor(max_window_size=128 * 1024 * 1024)
    try:
        with unzip.stream_reader(io.BytesIO(raw)) as stream:
            plain: bytes = stream.read(most + 1)
    except (zstandard.ZstdError, MemoryError):
        raise _damaged("zstd") from None
    return plain


def _damaged(encoding: str) -> Refused:
    return Refused.because(400, "api_usage_error", f"The body is not {encoding}, as Content-Encoding says")


class _Twice(ValueError):
    """A key stands twice in one object."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Twice(name)
            seen.add(name)
    return made


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _constant(text: str) -> Any:
    raise ValueError(text)


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant)


def parse(raw: bytes) -> Any:
    """The JSON value in ``raw`` (UTF-8, a byte-order mark is skipped); raises Unfit."""
    try:
        # errors="strict": a lone surrogate can only come as an escape, and goes back as one.
        body = _decoder.decode(raw.decode("utf-8-sig"))
    except _Twice as twice:
        raise Unfit([([], f"The key {_shown(twice)} stands twice in one object", "duplicate_key")]) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else _why(error)
        raise Unfit([([], f"JSON decode error: {said}", "json_invalid")]) from None
    if _depth_above(body, MAX_DEPTH):
        raise _too_deep()
    return body


def _shown(twice: _Twice) -> str:
    return json.dumps(twice.args[0][:100])


def _why(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "the body is not UTF-8"
    return "a number that JSON does not have, or one too large"


def _too_deep() -> Unfit:
    return Unfit([([], f"The body nests deeper than {MAX_DEPTH} levels", "too_deep")])


def _depth_above(value: Any, most: int) -> bool:
    """Whether arrays and objects nest deeper than ``most``; breadth first, without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def check(body: Any, max_options: int = 255) -> dict[str, Any]:
    """``body``, when it is a System One request; raises Unfit with every complaint otherwise."""
    if not isinstance(body, dict):
        raise Unfit([([], "Input should be an object", "model_attributes_type")])
    complaints: list[Complaint] = [
        ([name], "Field required", "missing") for name in ("model", "state", "questions") if name not in body
    ]
    if "input" in body and "state" not in body:
        hint = "This is the shape of OpenAI; here a request has state, and questions are an object"
        complaints.append((["input"], hint, "value_error"))
    if "model" in body and not (isinstance(body["model"], str) and body["model"]):
        complaints.append((["model"], "Input should be a non-empty string", "string_type"))
    if "state" in body and not _is_text(body["state"]):
        complaints.append((["state"], "Input should be a string, object or array", "union_type"))
    questions = body.get("questions")
    if "questions" in body and not (isinstance(questions, dict) and questions):
        complaints.append(
            (["questions"], "Input should be an object with at least one question", "dict_type")
        )
    elif isinstance(questions, dict):
        for name, question in questions.items():
            complaints += _question(["questions", name], question, max_options)
    if complaints:
        raise Unfit(complaints)
    return body


def _is_text(value: Any) -> bool:
    return isinstance(value, str | dict | list)


def _question(place: list[str | int], question: Any, max_options: int) -> list[Complaint]:
    if place[-1] == "":
        return [(place, "A question's id should not be empty", "too_short")]
    if not isinstance(question, dict):
        return [(place, "Input should be an object", "model_attributes_type")]
    kind = question.get("type")
    # By identity of type first: an unhashable or foreign type is no name either.
    if not isinstance(kind, str) or kind not in TYPES:
        return [([*place, "type"], f"Input should be one of {', '.join(TYPES)}", "union_tag_invalid")]
    instructions, criteria = question.get("instructions"), question.get("criteria")
    complaints: list[Complaint] = []
    if instructions is not None and not _is_text(instructions):
        complaints.append(
            ([*place, "instructions"], "Input should be a string, object or array", "union_type")
        )
    where: list[str | int] = [*place, "criteria"]
    if kind == "choice":
        return complaints + _choice(where, criteria, max_options)
    if kind == "score":
        return complaints + _score(where, criteria)
    return complaints + _noul(where, criteria)


def _choice(where: list[str | int], criteria: Any, max_options: int) -> list[Complaint]:
    if not isinstance(criteria, dict) or not criteria:
        return [(where, "Input should be an object with at least one option", "dict_type")]
    if len(criteria) > max_options:
        many = f"A choice takes at most {max_options} options here, not {len(criteria)}"
        return [(where, many, "too_long")]
    return [
        ([*where, option], "A description should be a string, object, array or null", "union_type")
        for option, description in criteria.items()
        if description is not None and not _is_text(description)
    ]


def _score(where: list[str | int], criteria: Any) -> list[Complaint]:
    if not isinstance(criteria, list) or not 2 <= len(criteria) <= MAX_LEVELS:
        return [(where, f"Input should be a list of 2 to {MAX_LEVELS} levels, lowest first", "list_type")]
    return [
        ([*where, i], "A level should be a string, object or array", "union_type")
        for i, level in enumerate(criteria)
        if not _is_text(level)
    ]


def _noul(where: list[str | int], criteria: Any) -> list[Complaint]:
    if criteria is None:
        return []
    if not isinstance(criteria, dict) or not criteria.keys() <= {"true", "false"}:
        return [(where, "Input should be an object with true, false or both", "dict_type")]
    return [
        ([*where, side], "A description should be a string, object, array or null", "union_type")
        for side, description in criteria.items()
        if description is not None and not _is_text(description)
    ]
