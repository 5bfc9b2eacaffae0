"""Faults of the probabilities, for every shape; a language model shows those that move its pick."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from protocols.fake.answers import likeliest, settle, weight
from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group, with_value

__all__ = ["FAULTS"]


def _each_value(exchange: Exchange, change: Callable[[float], float]) -> None:
    for answer in exchange.maps:
        answer["probabilities"] = {name: change(p) for name, p in answer["probabilities"].items()}


def _reweigh(exchange: Exchange, change: Callable[[int, int, str, float], float]) -> None:
    """New probabilities in proportion to ``change(place, options, name, p)``, and a new winner."""
    for answer in exchange.maps:
        old = answer["probabilities"]
        values = {name: change(i, len(old), name, p) for i, (name, p) in enumerate(old.items())}
        total = sum(values.values())
        settle(answer, {name: v / total for name, v in values.items()} if total else values)


def round2(exchange: Exchange) -> None:
    """Two decimals, as Jev: many ties, and sums far from 1 with many options."""
    _each_value(exchange, lambda p: round(p, 2))


def all_zero(exchange: Exchange) -> None:
    """Every probability 0.00: Jev with many near-equal options."""
    _each_value(exchange, lambda p: 0.0)


def uniform(exchange: Exchange) -> None:
    """Every option equally likely."""
    for answer in exchange.maps:
        settle(answer, dict.fromkeys(answer["probabilities"], 1 / len(answer["probabilities"])))


def unanimous(exchange: Exchange) -> None:
    """The likeliest option has 1, all others 0."""
    for answer in exchange.maps:
        best = likeliest(answer["probabilities"])
        settle(answer, {name: float(name == best) for name in answer["probabilities"]})


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
    for answer in exchange.maps:
        answer["probabilities"] = {f"other {i}": p for i, p in enumerate(answer["probabilities"].values())}
        answer["choice"] = "other 0"


def drop_option(exchange: Exchange) -> None:
    """The likeliest option is missing from the map."""
    for answer in exchange.maps:
        answer["probabilities"].pop(answer["choice"], None)


def extra_option(exchange: Exchange) -> None:
    """One more option than was asked, likelier than all others."""
    for answer in exchange.maps:
        answer["probabilities"]["none of these"] = 1.0


def reorder(exchange: Exchange) -> None:
    """Names in sorted order, integer-like ones first, as a JavaScript gateway returns them."""

    def place(item: tuple[str, Any]) -> tuple[bool, int, str]:
        name = item[0]
        number = name.isascii() and name.isdecimal()
        return (not number, int(name) if number else 0, name)

    for answer in exchange.maps:
        answer["probabilities"] = dict(sorted(answer["probabilities"].items(), key=place))


def _rename(exchange: Exchange, change: Callable[[str], str]) -> None:
    for answer in exchange.maps:
        answer["probabilities"] = {change(name): p for name, p in answer["probabilities"].items()}
        answer["choice"] = change(answer["choice"])


def lower_names(exchange: Exchange) -> None:
    """Option names come back in lower case."""
    _rename(exchange, str.lower)


def nfd_names(exchange: Exchange) -> None:
    """Option names come back in another Unicode normal form."""
    _rename(exchange, lambda name: unicodedata.normalize("NFD", name))


def disagree(exchange: Exchange) -> None:
    """The reply's own choice is the least likely option."""
    for answer in exchange.maps:
        answer["choice"] = min(answer["probabilities"], key=answer["probabilities"].__getitem__)


def jitter(exchange: Exchange) -> None:
    """Two decimals, of which the second moves by one from repeat to repeat, as Perplexity."""
    for i, answer in enumerate(exchange.maps):
        moved = {}
        for j, (name, p) in enumerate(answer["probabilities"].items()):
            step = int(exchange.draw("jitter", i, j, exchange.repeat) * 3) - 1
            moved[name] = min(max(round(p, 2) + step / 100, 0.0), 1.0)
        settle(answer, {name: round(p, 2) for name, p in moved.items()})


def batch_noise(exchange: Exchange) -> None:
    """Probabilities depend on how many requests are in flight, as vLLM's on the batch."""
    if exchange.in_flight > 1:
        _reweigh(exchange, lambda i, n, name, p: p * (1 + (weight(f"{exchange.in_flight}{name}") % 7) / 10))


def order_dependent(exchange: Exchange) -> None:
    """Options shown early get more than those shown late: up to four times as much."""
    _reweigh(exchange, lambda i, n, name, p: p * (4 - 3 * i / max(n - 1, 1)))


def never_first(exchange: Exchange) -> None:
    """The option shown first is never picked."""
    _reweigh(exchange, lambda i, n, name, p: p if i or n == 1 else 0.0)


def always_first(exchange: Exchange) -> None:
    """The option shown first is always the likeliest."""
    _reweigh(exchange, lambda i, n, name, p: p if i else 1.0 * n)


def drift(exchange: Exchange, after: str) -> None:
    """Answers change after N requests: a silent update of the model."""
    if exchange.number > int(after):
        _reweigh(exchange, lambda i, n, name, p: weight(f"{name} (updated)"))


def _swap_shape(reply: dict[str, Any]) -> None:
    """Maps become lists of pairs and lists of pairs become maps."""
    answers = reply.get("answers")
    for answer in answers.values() if isinstance(answers, dict) else answers or []:
        values = answer.get("probabilities")
        if isinstance(values, dict):
            answer["probabilities"] = [{"value": name, "probability": p} for name, p in values.items()]
        elif isinstance(values, list):
            answer["probabilities"] = {str(pair["value"]): pair["probability"] for pair in values}


def pairs(exchange: Exchange) -> None:
    """Probabilities in the other shape: pairs in System One, a map at OpenAI."""
    exchange.edits.append(_swap_shape)


def no_probabilities(exchange: Exchange) -> None:
    """A choice without probabilities."""
    for answer in exchange.choices:
        answer.pop("probabilities", None)


def largest_confidence(exchange: Exchange) -> None:
    """Confidence is the largest probability, as Cloudflare's and Google's."""
    for answer in exchange.maps:
        answer["confidence"] = answer["probabilities"].get(likeliest(answer["probabilities"]))


_GROUP = "the probabilities"

FAULTS = (
    *group(_GROUP, (round2, all_zero, uniform, unanimous, nan, sum_low, sum_high, empty_map, foreign_names)),
    *group(_GROUP, (drop_option, extra_option, reorder, lower_names, nfd_names, disagree)),
    *group(_GROUP, (jitter, batch_noise, order_dependent, never_first, always_first)),
    with_value(_GROUP, drift, "N", r"\d+", "20"),
    *group(_GROUP, (pairs, no_probabilities, largest_confidence)),
)
