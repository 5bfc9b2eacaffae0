"""Plans, facts and variants of basket assembly.

Facts: each item that is required (3n), the price of each ticket (c), each item that a ticket covers (I),
and for each ticket that all its items are known (c). Reading a ticket tells its items and that these are
all. An item's index tells of a ticket only that it covers the item, and of all others that they do not.

The prompt states how many items there are, that each is required once, and that a ticket covers one or
three. So whoever has seen an item knows that it is required, a ticket of three known items is complete, and
where few enough items are left without an index, what a ticket covers follows. The normaliser draws these
conclusions: the requirements need not be read where all items were met elsewhere, and of the indexes one
may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Insufficient, Plan
from domains.worlds.basket_assembly.instance import Basket, Ticket
from domains.worlds.windows import all_windows, covering_windows

__all__ = ["CHANNELS", "all_facts", "catalogue", "channel", "normalise", "plans", "rebuild", "variant"]

CHANNELS = {
    "structure": frozenset({"read_requirements", "read_bundle", "read_item_index"}),
    "prices": frozenset({"read_catalog_window"}),
}
_CHANNEL_OF = {"required": "structure", "holds": "structure", "complete": "structure", "price": "prices"}


def plans(instance: Basket) -> tuple[Plan, Plan]:
    """Tickets one by one, or the indexes of the items; prices by windows in both. Equal in both
    interfaces."""
    prices = [_window(*window) for window in covering_windows(len(instance.tickets))]
    return (
        Plan("bundles", (_REQUIREMENTS, *_bundles(instance), *prices)),
        Plan("indexes", (_REQUIREMENTS, *_indexes(instance), *prices)),
    )


def catalogue(instance: Basket) -> list[Call]:
    """Every distinct request that tells facts."""
    windows = [_window(*window) for window in all_windows(len(instance.tickets))]
    return [_REQUIREMENTS, *_bundles(instance), *_indexes(instance), *windows]


def normalise(public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
    """The facts that answered calls tell together, with what follows from them by the prompt."""
    facts: set[Fact] = set()
    items: set[str] = set()
    indexed: set[str] = set()
    held: dict[str, set[str]] = {}
    complete: set[str] = set()
    for call in executed:
        told = call.response
        if call.tool == "read_requirements":
            items.update(row["item_id"] for row in told["rows"])
        elif call.tool == "read_bundle":
            ticket, covered = _joined(told)
            complete.add(ticket)
            held.setdefault(ticket, set()).update(covered)
        elif call.tool == "read_item_index":
            indexed.add(told["item_id"])
            for ticket in told["bundle_ids"]:
                held.setdefault(ticket, set()).add(told["item_id"])
        elif call.tool == "read_catalog_window":
            for row in told["records"]:
                facts.add(("price", row["bundle_id"], row["price"]))
                held.setdefault(row["bundle_id"], set())
    items.update(indexed, *held.values())
    for ticket, contents in held.items():
        if ticket not in complete and _completed(contents, items, indexed, public["item_count"]):
            complete.add(ticket)
    facts.update(("required", item, 1) for item in items)
    facts.update(("complete", ticket) for ticket in complete)
    facts.update(("holds", ticket, item) for ticket, contents in held.items() for item in contents)
    return frozenset(facts)


def _completed(contents: set[str], items: set[str], indexed: set[str], count: int) -> bool:
    """Whether a ticket's items are known, which are one or three: those of ``contents`` and, should one be
    left and be known by name, that one, which is added. ``items`` are known by name, ``count`` there are."""
    missing = count - len(indexed | contents)  # as many items could still be the ticket's
    if len(contents) == 3 or (len(contents) == 1 and missing < 2):
        return True
    if missing == 1 and len(items) == count:
        contents |= items - indexed
        return True
    return False


def all_facts(instance: Basket) -> Facts:
    """The facts of an instance."""
    facts: set[Fact] = {("required", item, 1) for item in instance.items}
    for ticket in instance.tickets:
        facts.add(("price", ticket.id, ticket.price))
        facts.add(("complete", ticket.id))
        facts.update(("holds", ticket.id, item) for item in ticket.items)
    return frozenset(facts)


def channel(fact: Fact) -> str:
    """The channel of a fact."""
    return _CHANNEL_OF[fact[0]]


def rebuild(public: Mapping[str, Any], facts: Facts) -> Basket:
    """The instance that the facts determine; raises Insufficient when one is missing. The prompt tells
    how many items and tickets there are."""
    items = sorted(fact[1] for fact in facts if fact[0] == "required")
    if len(items) < public["item_count"]:
        raise Insufficient("the requirements were not read")
    prices = {fact[1]: fact[2] for fact in facts if fact[0] == "price"}
    if len(prices) < public["catalog_size"]:
        left = public["catalog_size"] - len(prices)
        raise Insufficient(f"the prices of {left} tickets are not known")
    complete = {fact[1] for fact in facts if fact[0] == "complete"}
    held: dict[str, list[str]] = {ticket: [] for ticket in prices}
    for fact in facts:
        if fact[0] == "holds":
            held[fact[1]].append(fact[2])
    for ticket in sorted(prices):
        if ticket not in complete:
            raise Insufficient(f"the items of ticket {ticket} are not all known")
    return Basket(
        tuple(items), tuple(Ticket(name, prices[name], tuple(sorted(held[name]))) for name in sorted(prices))
    )


def variant(instance: Basket, channel: str, draws: Draws) -> Basket:
    """The instance with the prices, or the item sets, of the tickets of three shuffled among them. The
    split stays, and so do the single-item tickets."""
    triples = [ticket for ticket in instance.tickets if len(ticket.items) == 3]
    prices, items = [ticket.price for ticket in triples], [ticket.items for ticket in triples]
    if channel == "prices":
        draws.shuffle(prices)
    else:
        draws.shuffle(items)
    changed = {
        ticket.id: Ticket(ticket.id, price, held)
        for ticket, price, held in zip(triples, prices, items, strict=True)
    }
    return Basket(instance.items, tuple(changed.get(ticket.id, ticket) for ticket in instance.tickets))


_REQUIREMENTS = Call("read_requirements", {})


def _bundles(instance: Basket) -> list[Call]:
    return [Call("read_bundle", {"bundle": ticket.id}) for ticket in instance.tickets]


def _indexes(instance: Basket) -> list[Call]:
    return [Call("read_item_index", {"item": item}) for item in instance.items]


def _window(start: int, length: int) -> Call:
    return Call("read_catalog_window", {"start": start, "length": length})


def _joined(told: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The ticket of a ``read_bundle`` response and its items."""
    if told["encoding"] == "direct":
        return told["bundle_id"], list(told["quantities"])
    recipe = told["bundle"]["recipe_id"]
    return told["bundle"]["bundle_id"], [
        row["item_id"] for row in told["recipe_rows"] if row["recipe_id"] == recipe
    ]
