"""Prompt texts of basket assembly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["REQUEST", "environment"]

_ENVIRONMENT = """\
You put together a basket from a catalogue of tickets that you can learn about only through tools.

There are {item_count} items, and each of them is required exactly once. The catalogue holds {catalog_size}
tickets. A ticket has a price and covers either one item or three different items, one unit of each;
tickets are not divisible, and each can be taken at most once.

Choose a set of tickets. It is legal only if every required item is covered by exactly one ticket of
the set: an item that is missing, or covered twice, makes the set illegal. The order of the tickets means
nothing.

Among the legal sets, find the one with the least total price:

    total price = sum of the prices of the chosen tickets

Nothing is added to this sum and nothing is subtracted. A cheap ticket can stand in the way of a cheap
basket.

# Where the facts are
Requirements, contents and prices are told by different tools. read_requirements lists the items.
read_bundle tells the items of one ticket, and never its price; where it names a recipe, join the ticket
to the rows of that recipe in the same answer. A recipe id is no ticket id. read_item_index lists every
ticket that covers one item. read_catalog_window tells ids and prices of two or three consecutive
tickets of the catalogue, at positions counted from 0; the order of the catalogue has no meaning. Item ids
come from the requirements and from contents, ticket ids from windows and indexes.
"""

REQUEST = """\
Find the legal set of tickets of least total price, and hand it in with submit_tickets as a list of ticket
ids.
"""


def environment(public: Mapping[str, Any]) -> str:
    """The environment text with the numbers of items and tickets."""
    return _ENVIRONMENT.format(**public)
