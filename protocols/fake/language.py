"""What the reference language models share: reading numbered options out of a prompt, and writing
the JSON that a schema asks for.

An option is a line ``17: text`` (or ``17.`` or ``17)``), with the lines after it up to a blank one
or the next number. Numbers count up by one from 0 or 1; of several such lists in a prompt the
longest counts, of equally long ones the last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from protocols.fake.asked import Asked, RefusedError
from protocols.fake.exchange import Exchange

__all__ = [
    "REFUSED",
    "ask_for",
    "numbered",
    "pick",
    "refused",
    "stopped",
    "strict_problem",
    "texts",
    "written",
]

REFUSED = "I'm sorry, but I can't help with that."
_LINE = re.compile(r"[ \t]*(\d{1,6})[:.)](?:[ \t](.*)|$)", re.DOTALL)
#: What an integer property may be called that means the option, the likeliest first.
_NAMES = ("option", "choice", "number", "answer", "pick", "index")


def numbered(prompt: str) -> dict[str, int]:
    """Option text -> its number, in the order shown; empty when there are fewer than two."""
    best: list[list[Any]] = []
    run: list[list[Any]] = []
    open_ = False
    for line in prompt.split("\n"):
        match = _LINE.fullmatch(line)
        number = int(match[1]) if match else -1
        if match and run and number == run[-1][0] + 1:
            run.append([number, match[2] or ""])
            open_ = True
        elif match and number in (0, 1):
            run = [[number, match[2] or ""]]
            open_ = True
        elif not line.strip():
            open_ = False
        elif open_:
            run[-1][1] += f"\n{line}"
        if len(run) >= len(best):
            best = run
    options: dict[str, int] = {}
    for number, text in best if len(best) > 1 else []:
        options.setdefault(text, number)
    return options


def texts(content: Any) -> Iterable[str]:
    """Every text in a message's content: a string, or a list of parts with ``text``."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


def ask_for(prompt: str, place: str, schema: Any) -> tuple[Asked, ...]:
    """The prompt's question; refused with 400 when it has no numbered options, for a real model
    would answer something and hide the mistake."""
    options = numbered(prompt)
    if not options:
        raise RefusedError.at(400, [place], "the fake found no numbered options (lines '1: text')")
    return (Asked("option", "choice", tuple(options), prompt, _property(schema), options),)


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _property(schema: Any) -> str:
    """The property that holds the option's number."""
    properties = _properties(schema)
    for name in _NAMES:
        if name in properties:
            return name
    whole = [name for name, p in properties.items() if isinstance(p, dict) and p.get("type") == "integer"]
    return next(iter(whole or properties), "option")


def strict_problem(schema: Any) -> str | None:
    """Why a strict schema is refused: each object must list all its properties and close itself."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "schema must have a type of 'object'"
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    required = schema.get("required", [])
    if not isinstance(required, list) or sorted(map(str, required)) != sorted(_properties(schema)):
        return "'required' is required to be supplied and to be an array including every key in properties"
    return None


def pick(exchange: Exchange) -> int | None:
    """The number of the option picked; None for no answer; a foreign name has a number too large."""
    [asked] = exchange.asked
    answer = exchange.reply.get("answers", {}).get(asked.id, {})
    if "choice" not in answer:
        return None
    number: int | None = asked.values.get(answer["choice"])
    return number if number is not None else max(asked.values.values()) + 1


def refused(exchange: Exchange) -> bool:
    """Whether the model refuses."""
    answers = exchange.reply.get("answers", {}).values()
    return any(answer.get("type") == "refusal" for answer in answers)


def written(exchange: Exchange, schema: Any) -> tuple[dict[str, Any], str]:
    """The object that the model answers with, and the text it writes (``{}`` and "" for none)."""
    number = pick(exchange)
    if number is None:
        return {}, ""
    [asked] = exchange.asked
    value: Any = exchange.picked(number) if exchange.picked else number
    properties = _properties(schema) or {asked.name or "option": {}}
    wanted = properties.get(asked.name or "option")
    if isinstance(wanted, dict) and wanted.get("type") == "string":
        value = str(value)
    whole = {name: value if name == asked.name else _filler(p) for name, p in properties.items()}
    text = json.dumps(whole)
    for tell in exchange.told:
        text = tell(text)
    return whole, text


def _filler(schema: Any) -> Any:
    """Something that fits a property which is not the option."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kinds: dict[str, Any] = {"integer": 0, "number": 0.5, "boolean": True, "array": [], "object": {}}
    return kinds.get(str(schema.get("type")), "It is the closest.")


def stopped(exchange: Exchange, text: str, limit: Any) -> tuple[str, str]:
    """The text as far as it came, and why it ended there: "", "tokens" or "filter"."""
    if exchange.stopped == "filter":
        return "", "filter"
    if isinstance(limit, int) and len(text) // 4 + 1 > limit:
        return text[: 4 * limit - 4], "tokens"
    if exchange.stopped == "tokens":
        return text[: len(text) // 2], "tokens"
    return text, ""
