"""The closed table of how a decision can end, and of what can happen on the way.

Every question of a model arm ends in exactly one of ENDINGS, counted in the record's ``outcomes``;
what happened on the way is counted beside them, in the fields that EVENTS name. A report checks
both (:func:`unaccounted`) and shows first whatever this table does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["ENDINGS", "EVENTS", "Ending", "Event", "unaccounted"]


class Ending(StrEnum):
    """How the decision of one unforced step ended; the value is its counter in ``outcomes``."""

    ANSWERED = "answered"
    TIE = "tie"
    REASKED_REFUSED = "reasked_after_refusal"
    REASKED_INVALID = "reasked_after_invalid"
    FALLBACK = "fallback"


ENDINGS: Mapping[Ending, str] = {
    Ending.ANSWERED: "the first answer had one likeliest option, and it was taken",
    Ending.TIE: "the first answer had several, and the version's tie rule chose among them",
    Ending.REASKED_REFUSED: "refused once, answered in a new order",
    Ending.REASKED_INVALID: "unusable once, answered in a new order",
    Ending.FALLBACK: "refused or unusable twice; the state shown first was taken",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens on the way to an ending."""

    counter: str
    """Field of the record's model arm; empty where a run leaves no record of it."""
    meaning: str


EVENTS: Mapping[str, Event] = {
    "refused": Event("refusals", "a reply in which the model declines the question"),
    "invalid": Event("invalid_answers", "a reply without a finite probability above zero for a shown option"),
    "retried": Event("retries", "a try that brought no reply, and was made again"),
    "tied": Event("ties", "a usable answer whose top probability was shared, re-asked ones included"),
    "disagreed": Event("disagreements", "a reply whose own pick is not among its likeliest options"),
    "short usage": Event("short_usage", "the host counts fewer tokens than the question can have"),
    "cached": Event("cached", "an answer taken from the answer cache; nothing was sent"),
    "stopped": Event("", "the run ended during the trial: no record, the trial is owed again"),
}


def unaccounted(arm: Mapping[str, Any]) -> list[str]:
    """What the model arm of one record holds that this table does not explain, one sentence a
    problem; empty for a record from before the table."""
    outcomes = arm.get("outcomes")
    if outcomes is None:
        return []
    if not isinstance(outcomes, Mapping) or not all(type(n) is int and n >= 0 for n in outcomes.values()):
        return [f"outcomes that are no counts: {outcomes!r}"]
    problems = [
        f"{count} decision(s) ended as {name!r}, which is no known ending"
        for name, count in sorted(outcomes.items())
        if name not in set(Ending)
    ]

    def get(name: str) -> int:
        value = arm.get(name, 0)
        return value if isinstance(value, int) else 0

    ended = sum(outcomes.values())
    twice = sum(outcomes.get(e, 0) for e in Ending if e not in (Ending.ANSWERED, Ending.TIE))
    if ended + twice != get("requests"):
        problems.append(f"{get('requests')} questions asked, but {ended + twice} by how decisions ended")
    bad = twice + outcomes.get(Ending.FALLBACK, 0)
    if get("refusals") + get("invalid_answers") != bad:
        problems.append(
            f"{get('refusals')} refusals and {get('invalid_answers')} invalid answers, but {bad} by how "
            "decisions ended"
        )
    if outcomes.get(Ending.FALLBACK, 0) != get("fallbacks"):
        problems.append(
            f"{get('fallbacks')} fallbacks, but {outcomes.get(Ending.FALLBACK, 0)} decisions ended so"
        )
    return problems
