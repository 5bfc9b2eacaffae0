"""Faults of language models: what they write around, or in place of, the JSON that was asked for.

Models of the decision protocols write no text, so these change nothing there.
"""

from __future__ import annotations

from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group

__all__ = ["FAULTS"]


def prose(exchange: Exchange) -> None:
    """Sentences around the JSON."""
    exchange.told.append(lambda text: f"I compared the options. My answer is {text} because it is closest.")


def fenced(exchange: Exchange) -> None:
    """The JSON in a fenced code block."""
    exchange.told.append(lambda text: f"```json\n{text}\n```")


def no_json(exchange: Exchange) -> None:
    """Sentences in place of the JSON."""
    exchange.told.append(lambda text: "They all look good to me.")


def number_as_string(exchange: Exchange) -> None:
    """The option's number as a string."""
    exchange.picked = str


def number_as_float(exchange: Exchange) -> None:
    """The option's number with a fraction of zero."""
    exchange.picked = float


def out_of_range(exchange: Exchange) -> None:
    """A number that no option has."""
    exchange.picked = lambda number: 1000 + number


def truncated(exchange: Exchange) -> None:
    """The text ends at the token limit, and the reply says so."""
    exchange.stopped = "tokens"


def content_filter(exchange: Exchange) -> None:
    """The text is withheld by a content filter (OpenAI); a refusal at Anthropic."""
    exchange.stopped = "filter"


FAULTS = group(
    "the text of a language model",
    (prose, fenced, no_json, number_as_string, number_as_float, out_of_range, truncated, content_filter),
)
