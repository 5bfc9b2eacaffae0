"""Read a payload of the public AlgoWorlds release: the instance, and its desk in the payload's own orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from beeline.errors import DataError, DomainError
from beeline.world import Interface
from domains.worlds.basket_assembly.instance import Basket, Ticket
from domains.worlds.basket_assembly.present import BasketDesk, Layout

__all__ = ["of_release"]


def of_release(payload: Mapping[str, Any], interface: Interface) -> tuple[Basket, BasketDesk]:
    """Instance and desk; DataError says what in the payload is malformed."""
    try:
        return _read(payload, interface)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"basket_assembly payload: a field is missing or of a wrong type ({error!r})"
        ) from error
    except DomainError as error:
        raise DataError(f"basket_assembly payload: {error}") from error


def _read(payload: Mapping[str, Any], interface: Interface) -> tuple[Basket, BasketDesk]:
    documents = payload["source_documents"]
    required = [row["item_id"] for row in documents["requirements"]]
    if any(row["quantity"] != 1 for row in documents["requirements"]):
        _refuse("a required quantity is not 1")
    catalog = documents["catalog"]
    if catalog["encoding"] != interface.value:
        _refuse(f"its encoding is {catalog['encoding']!r}, not {interface.value!r}")
    bundles = catalog["bundles"]
    order = [bundle["bundle_id"] for bundle in bundles]
    if len(set(order)) != len(order) or sorted(documents["catalog_order"]) != sorted(order):
        _refuse("catalog_order is no permutation of different bundles")
    if (payload["item_count"], payload["catalog_size"]) != (len(required), len(order)):
        _refuse("item_count or catalog_size is not that of the documents")
    recipes: dict[str, str] = {}
    if interface is Interface.DIRECT:
        held = {bundle["bundle_id"]: dict(bundle["quantities"]) for bundle in bundles}
    else:
        recipes = {bundle["bundle_id"]: bundle["recipe_id"] for bundle in bundles}
        held = _by_recipe(recipes, catalog["recipe_rows"])
    if any(quantity != 1 for quantities in held.values() for quantity in quantities.values()):
        _refuse("a quantity in a bundle is not 1")
    tickets = sorted(
        Ticket(bundle["bundle_id"], bundle["price"], tuple(sorted(held[bundle["bundle_id"]])))
        for bundle in bundles
    )
    instance = Basket(tuple(sorted(required)), tuple(tickets))
    layout = Layout(
        requirements=tuple(required),
        catalogue=tuple(documents["catalog_order"]),
        recipes=recipes,
        contents={name: tuple(quantities) for name, quantities in held.items()},
    )
    return instance, BasketDesk(instance, interface, layout)


def _by_recipe(recipes: Mapping[str, str], rows: list[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Quantities of each bundle, joined by its recipe."""
    bundle_of = {recipe: bundle for bundle, recipe in recipes.items()}
    if len(bundle_of) != len(recipes):
        _refuse("two bundles have one recipe")
    held: dict[str, dict[str, int]] = {bundle: {} for bundle in recipes}
    for row in rows:
        if row["recipe_id"] not in bundle_of:
            _refuse(f"no bundle has the recipe {row['recipe_id']}")
        quantities = held[bundle_of[row["recipe_id"]]]
        if row["item_id"] in quantities:
            _refuse(f"recipe {row['recipe_id']} lists an item twice")
        quantities[row["item_id"]] = row["quantity"]
    return held


def _refuse(why: str) -> NoReturn:
    raise DataError(f"basket_assembly payload: {why}; fetch the file again")
