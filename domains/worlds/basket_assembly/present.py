"""Tools of basket assembly and the desk behind them.

The interfaces differ in two ways. *Direct* tells the items of a ticket in its own row; *mediated* tells a
recipe, and the items of the recipe as rows to be joined by it. And the catalogue is shuffled anew in
each, so that a window of the same arguments lists other tickets. Recipes appear in answers only; no
decision may name one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beeline.world import Argument, Interface, Presentation, Tool, ToolError, Verdict
from domains.worlds.basket_assembly.instance import Basket, check
from domains.worlds.handles import key_of, scattered

__all__ = ["SUBMIT", "TOOLS", "BasketDesk", "Layout", "layout_of"]

_TICKETS = Argument("tickets", "array", "Ticket ids, each once, in any order.")

TOOLS = (
    Tool("read_requirements", "List every item that must be covered, with the quantity required."),
    Tool(
        "read_bundle",
        "Tell which items one ticket covers; tells no price.",
        (Argument("bundle", "string", "A ticket id."),),
    ),
    Tool(
        "read_item_index",
        "List all tickets that cover one item; tells neither prices nor what else they cover.",
        (Argument("item", "string", "An item id."),),
    ),
    Tool(
        "read_catalog_window",
        "Give the prices of two or three consecutive tickets of the catalogue; tells no items.",
        (
            Argument("start", "integer", "Position of the first ticket, counted from 0.", 0),
            Argument("length", "integer", "How many tickets: 2 or 3.", 2, 3),
        ),
    ),
    Tool(
        "evaluate_basket",
        "Judge one candidate set of tickets, once: does it cover every item exactly once, and at what price?",
        (_TICKETS,),
    ),
)
SUBMIT = Tool(
    "submit_tickets", "Hand in the final set of tickets. Free, binding, ends the task.", (_TICKETS,)
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The orders and connectors of one interface."""

    requirements: tuple[str, ...]
    """Items in the order in which they are required."""
    catalogue: tuple[str, ...]
    """Tickets in the order of the windows."""
    recipes: Mapping[str, str]
    """Recipe of each ticket, one to one; used in the mediated interface."""
    contents: Mapping[str, tuple[str, ...]]
    """Items of each ticket in the order in which they are told."""


def layout_of(instance: Basket, interface: Interface) -> Layout:
    """The layout of our own worlds: by handles alone. Requirements are in one order in both interfaces."""
    ids = [ticket.id for ticket in instance.tickets]
    return Layout(
        requirements=tuple(scattered(instance.items, "requirements")),
        catalogue=tuple(scattered(ids, "catalogue", interface)),
        recipes={name: f"RCP-{key_of('recipe', name)[:12].upper()}" for name in ids},
        contents={t.id: tuple(scattered(t.items, "contents", interface, t.id)) for t in instance.tickets},
    )


class BasketDesk(Presentation):
    """Answers for one instance behind one interface."""

    def __init__(self, instance: Basket, interface: Interface, layout: Layout | None = None) -> None:
        self.instance = instance
        self.interface = interface
        self.layout = layout or layout_of(instance, interface)
        self.index: dict[str, list[str]] = {item: [] for item in instance.items}
        for ticket in instance.tickets:
            for item in ticket.items:
                self.index[item].append(ticket.id)

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        if tool == "read_requirements":
            return {"rows": [{"item_id": item, "quantity": 1} for item in self.layout.requirements]}
        if tool == "read_bundle":
            return self._bundle(arguments["bundle"])
        if tool == "read_item_index":
            item = arguments["item"]
            if item not in self.index:
                raise ToolError("no item has this id")
            return {"item_id": item, "bundle_ids": list(self.index[item])}
        if tool == "read_catalog_window":
            return self._window(arguments["start"], arguments["length"])
        raise ToolError(f"there is no tool named {tool}")

    def evaluate(self, value: Any) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        verdict = self.check(value)
        if not verdict.feasible:
            return {"complete": False, "legal": False}
        return {"complete": True, "legal": True, "total_price": verdict.objective}

    def check(self, value: Any) -> Verdict:
        """See :class:`~beeline.world.Presentation`."""
        return check(self.instance, value)

    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        return {"accepted": True, "legal": verdict.feasible, "total_price": verdict.objective}

    def _bundle(self, name: str) -> dict[str, Any]:
        if name not in self.instance.by_id:
            raise ToolError("no ticket has this id")
        items = self.layout.contents[name]
        if self.interface is Interface.DIRECT:
            return {"encoding": "direct", "bundle_id": name, "quantities": dict.fromkeys(items, 1)}
        recipe = self.layout.recipes[name]
        return {
            "encoding": "mediated",
            "bundle": {"bundle_id": name, "recipe_id": recipe},
            "recipe_rows": [{"recipe_id": recipe, "item_id": item, "quantity": 1} for item in items],
        }

    def _window(self, start: int, length: int) -> dict[str, Any]:
        catalogue = self.layout.catalogue
        if start + length > len(catalogue):
            raise ToolError("the window reaches beyond the last ticket of the catalogue")
        return {
            "start": start,
            "length": length,
            "records": [
                {"bundle_id": name, "price": self.instance.by_id[name].price}
                for name in catalogue[start : start + length]
            ],
        }
