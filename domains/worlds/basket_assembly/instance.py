"""The hidden instance of basket assembly, its JSON form and its checker.

Each of the items is required exactly once. A ticket has a price and covers one item or three; a decision is
a set of tickets that covers every item once and none twice. Minimised is the sum of the prices of the
tickets taken; nothing is subtracted.

Every item has a ticket of its own, so a decision always exists. The items split into three groups such
that a ticket of three takes one item of each (:mod:`domains.worlds.basket_assembly.split`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from beeline.errors import DomainError
from beeline.world import INFEASIBLE, Verdict
from domains.worlds.basket_assembly.split import Groups, three_groups

__all__ = ["Basket", "Ticket", "check"]

SAFE = 2**61
"""The sum of all prices stays below this, so that 64-bit arithmetic is exact and 2^62 can stand for
infinity."""
MOST_ITEMS = 62
"""Sets of items are bits of a 64-bit integer."""


class Ticket(NamedTuple):
    """One ticket; ``items`` are one handle or three, sorted."""

    id: str
    price: int
    items: tuple[str, ...]


@dataclass(frozen=True)
class Basket:
    """An instance. Items are sorted, and so are tickets by id: their canonical order."""

    items: tuple[str, ...]
    tickets: tuple[Ticket, ...]

    def __post_init__(self) -> None:
        known = set(self.items)
        if list(self.items) != sorted(known) or len(known) > MOST_ITEMS:
            raise DomainError(f"basket_assembly: items must be sorted, different and at most {MOST_ITEMS}")
        if [ticket.id for ticket in self.tickets] != sorted({ticket.id for ticket in self.tickets}):
            raise DomainError("basket_assembly: tickets must be sorted by id and different")
        for ticket in self.tickets:
            held = set(ticket.items)
            if list(ticket.items) != sorted(held) or len(held) not in (1, 3) or not held <= known:
                raise DomainError(f"basket_assembly: ticket {ticket.id} must hold one or three known items")
            if type(ticket.price) is not int or ticket.price < 1:
                raise DomainError(f"basket_assembly: the price of ticket {ticket.id} must be 1 or more")
        if {ticket.items[0] for ticket in self.tickets if len(ticket.items) == 1} != known:
            raise DomainError("basket_assembly: each item needs a ticket of its own")
        if sum(ticket.price for ticket in self.tickets) >= SAFE:
            raise DomainError("basket_assembly: prices of this size would not fit 64-bit sums")

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each item."""
        return {item: i for i, item in enumerate(self.items)}

    @cached_property
    def by_id(self) -> dict[str, Ticket]:
        """The tickets by their ids."""
        return {ticket.id: ticket for ticket in self.tickets}

    @cached_property
    def groups(self) -> Groups:
        """The split, as positions of items. DomainError when the tickets of three allow none."""
        triples = [[self.place[item] for item in t.items] for t in self.tickets if len(t.items) == 3]
        groups = three_groups(len(self.items), triples)
        if groups is None:
            raise DomainError("basket_assembly: no three groups are such that each ticket of three meets all")
        return groups

    def as_json(self) -> dict[str, Any]:
        """Interface-neutral JSON data."""
        return {
            "items": list(self.items),
            "tickets": [[ticket.id, ticket.price, list(ticket.items)] for ticket in self.tickets],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Basket:
        """Inverse of :meth:`as_json`."""
        return cls(
            tuple(data["items"]),
            tuple(Ticket(name, price, tuple(items)) for name, price, items in data["tickets"]),
        )


def check(instance: Basket, value: Any) -> Verdict:
    """The checker: a list of different known tickets, in any order, that covers each item exactly once."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return INFEASIBLE
    tickets = [instance.by_id[name] for name in value if name in instance.by_id]
    covered = [item for ticket in tickets for item in ticket.items]
    if len(tickets) != len(value) or sorted(covered) != list(instance.items):
        return INFEASIBLE
    return Verdict(True, sum(ticket.price for ticket in tickets))
