"""What is particular to basket assembly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest

from beeline.draws import Draws
from beeline.errors import DataError, DomainError
from beeline.facts import Call
from beeline.world import INDEXES, LEVELS, Interface, ToolError, Verdict
from domains.worlds.basket_assembly.generate import SIZES, Size, generate
from domains.worlds.basket_assembly.instance import SAFE, Basket, Ticket, check
from domains.worlds.basket_assembly.present import BasketDesk, layout_of
from domains.worlds.basket_assembly.release import of_release
from domains.worlds.basket_assembly.solve import solve
from domains.worlds.basket_assembly.split import three_groups
from domains.worlds.basket_assembly.verify import verify
from tests.domains.worlds import contract
from tests.domains.worlds.specification import Specified
from tests.domains.worlds.test_families import case_of, private_of

DOMAIN = case_of("basket_assembly").domain
both = pytest.mark.parametrize("interface", list(Interface))


def instance() -> Basket:
    made = private_of("basket_assembly").instance
    assert isinstance(made, Basket)
    return made


def triples_of(basket: Basket) -> list[list[int]]:
    return [[basket.place[item] for item in t.items] for t in basket.tickets if len(t.items) == 3]


# The problem.


def test_budgets_plans_and_catalogues_are_those_of_the_specification() -> None:
    Specified(
        budgets={
            "L1": (260, 282, 338),
            "L2": (386, 448, 539),
            "L3": (449, 536, 647),
            "L4": (528, 646, 780),
        },
        calls=(38, 180),
        costs=(172, 764),
        full=(1020, 2554),
    ).check(DOMAIN)


@pytest.mark.parametrize(("level", "triples", "tickets"), [("L1", 38, 56), ("L2", 67, 91), ("L3", 84, 111)])
def test_tickets_are_a_grid_traps_and_singles(level: str, triples: int, tickets: int) -> None:
    basket = DOMAIN.generated(level, 1, 1)
    n = SIZES[level].group
    assert len(basket.tickets) == tickets
    assert Counter(len(t.items) for t in basket.tickets) == {1: 3 * n, 3: triples}
    assert len({t.items for t in basket.tickets}) == tickets
    traps = {t.id for t in basket.tickets if t.price < 4 + 2 * n // 5}
    assert len(traps) == 2 * n // 5
    pairs: Counter[tuple[int, int]] = Counter()
    for ticket in basket.tickets:
        if ticket.id not in traps and len(ticket.items) == 3:
            pairs.update(combinations(sorted(basket.place[item] for item in ticket.items), 2))
    gridded = [
        (a, b)
        for a, b in combinations(range(3), 2)
        if all(pairs[min(x, y), max(x, y)] == 1 for x in basket.groups[a] for y in basket.groups[b])
    ]
    assert len(gridded) == 1, "each pair of items of just one pair of groups has one ticket"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", INDEXES)
def test_the_split_is_even_and_the_only_one(level: str, index: int) -> None:
    basket = DOMAIN.generated(level, index, 1)
    n = SIZES[level].group
    assert [len(group) for group in basket.groups] == [n, n, n]
    triples = triples_of(basket)
    for ticket in triples:
        assert [sum(item in group for item in ticket) for group in basket.groups] == [1, 1, 1]
    # Any two items that share no ticket and are in different groups cannot be put together.
    for one, other in combinations(basket.groups, 2):
        for a, b in product(one, other):
            merged = [[a if item == b else item for item in ticket] for ticket in triples]
            if any(a in ticket and b in ticket for ticket in triples):
                continue
            assert three_groups(3 * n, merged) is None


def test_splits_are_found_exactly_when_there_are_some() -> None:
    found = 0
    for number in range(300):
        draws = Draws("tests", "split", number)
        count = 3 + draws.below(5)
        triples = [sorted(draws.sample(range(count), 3)) for _ in range(draws.below(10))]

        def fits(colours: tuple[int, ...], triples: list[list[int]] = triples) -> bool:
            return all(len({colours[item] for item in triple}) == 3 for triple in triples)

        possible = any(fits(colours) for colours in product(range(3), repeat=count))
        groups = three_groups(count, triples)
        assert (groups is not None) == possible
        if groups is not None:
            found += 1
            assert sorted(item for group in groups for item in group) == list(range(count))
            assert fits(tuple(next(g for g in range(3) if i in groups[g]) for i in range(count)))
    assert 20 < found < 280


def test_the_optimum_is_the_planted_partition() -> None:
    """No single ticket, no trap and no penalty, but each of the three special surcharges once."""
    size = SIZES["L1"]
    for index in INDEXES:
        private = private_of("basket_assembly", "L1", index)
        assert len(private.solution.decision) == size.group
        assert 0 < private.optimum - 3 * size.special < size.penalty


# Solvers at their limits.


def test_more_than_32_items_take_64_bit_sets() -> None:
    """Groups of 21, 6 and 6, which the tickets with x0, y0 or z0 force."""
    draws = Draws("tests", "wide")
    items = [f"ITM-{i:02}" for i in range(33)]
    made = [Ticket(f"TKT-S{i:02}", 20 + draws.below(9), (item,)) for i, item in enumerate(items)]
    drawn = {(draws.below(21), 21 + draws.below(6), 27 + draws.below(6)) for _ in range(30)}
    drawn |= {(x, 21, 27) for x in range(21)}
    drawn |= {(0, 21 + y, 27) for y in range(6)} | {(0, 21, 27 + z) for z in range(6)}
    for k, triple in enumerate(sorted(drawn)):
        made.append(Ticket(f"TKT-T{k:02}", 30 + draws.below(20), tuple(items[i] for i in triple)))
    basket = Basket(tuple(items), tuple(sorted(made)))
    assert [len(group) for group in basket.groups] == [21, 6, 6]
    solution, other = solve(basket), verify(basket)
    assert (solution.objective, solution.optima) == (other.objective, other.optima)
    assert check(basket, solution.decision) == check(basket, other.decision)
    assert check(basket, solution.decision) == Verdict(True, solution.objective)


def test_prices_near_the_bound_are_added_exactly() -> None:
    """Prices near 2^54, which a float would round: the optimum shifts by exactly what each ticket does."""
    basket = generate(Size(3, 113, 119, 1500), Draws("tests", "bound"))
    shift = 2**54 + 1
    dear = Basket(
        basket.items, tuple(t._replace(price=t.price + shift * len(t.items)) for t in basket.tickets)
    )
    optimum = solve(basket).objective
    assert optimum is not None
    for solution in (solve(dear), verify(dear)):
        assert (solution.objective, solution.decision) == (optimum + 9 * shift, solve(basket).decision)
    too_dear = tuple(t._replace(price=SAFE // len(basket.tickets) + 1) for t in basket.tickets)
    with pytest.raises(DomainError, match="64-bit"):
        Basket(basket.items, too_dear)


@pytest.mark.parametrize(
    ("items", "tickets", "why"),
    [
        ("ba", [("T", 1, "a"), ("U", 1, "b")], "items must be sorted"),
        ("aa", [("T", 1, "a")], "items must be sorted"),
        ("ab", [("U", 1, "a"), ("T", 1, "b")], "tickets must be sorted"),
        ("ab", [("T", 1, "a"), ("T", 1, "b")], "tickets must be sorted"),
        ("ab", [("T", 1, "a"), ("U", 1, "b"), ("V", 1, "ab")], "one or three known items"),
        ("ab", [("T", 1, "a"), ("U", 1, "b"), ("V", 1, "abc")], "one or three known items"),
        ("ab", [("T", 0, "a"), ("U", 1, "b")], "must be 1 or more"),
        ("abc", [("T", 1, "a"), ("U", 1, "b"), ("V", 1, "abc")], "a ticket of its own"),
    ],
)
def test_malformed_instances_are_refused(items: str, tickets: list[tuple[str, int, str]], why: str) -> None:
    with pytest.raises(DomainError, match=why):
        Basket(tuple(items), tuple(Ticket(name, price, tuple(held)) for name, price, held in tickets))


def test_tickets_that_allow_no_split_are_refused() -> None:
    singles = [Ticket(f"S{item}", 1, (item,)) for item in "abcd"]
    triples = [Ticket(f"T{k}", 1, held) for k, held in enumerate(combinations("abcd", 3))]
    basket = Basket(tuple("abcd"), tuple(singles + triples))
    with pytest.raises(DomainError, match="no three groups"):
        solve(basket)


def test_any_other_set_is_illegal() -> None:
    basket = instance()
    best = list(private_of("basket_assembly").solution.decision)
    singles = [t.id for t in basket.tickets if len(t.items) == 1]
    assert check(basket, singles).feasible
    assert not check(basket, [*best, singles[0]]).feasible  # an item twice
    assert not check(basket, singles[1:]).feasible  # an item missing
    assert not check(basket, [*singles[1:], singles[1]]).feasible  # as many, one of them twice
    assert not check(basket, [*best[:-1], "TKT-000000000000"]).feasible
    assert not check(basket, {name: 1 for name in best}).feasible


# The tools.


def told(basket: Basket, calls: list[Call]) -> dict[str, int]:
    """How many facts of each kind some calls tell."""
    return dict(Counter(fact[0] for fact in contract.told(DOMAIN, basket, Interface.MEDIATED, calls)))


def test_what_follows_from_requirements_and_indexes() -> None:
    """One index may be left out, for a ticket covers one item or three; of two it is not known which."""
    basket = instance()
    catalogue = DOMAIN.catalogue(basket, Interface.DIRECT)
    indexes = [call for call in catalogue if call.tool == "read_item_index"]
    windows = [call for call in catalogue if call.tool == "read_catalog_window"]
    requirements = Call("read_requirements", {})
    everything = contract.told(DOMAIN, basket, Interface.DIRECT, [requirements, *indexes, *windows])
    assert everything == DOMAIN.facts(basket)
    for left_out in range(len(indexes)):
        rest = indexes[:left_out] + indexes[left_out + 1 :]
        assert contract.told(DOMAIN, basket, Interface.DIRECT, [requirements, *rest, *windows]) == everything
        # Nobody has named the item that is left out, nor its single ticket.
        unnamed = told(basket, rest)
        assert unnamed["required"] == len(basket.items) - 1
        assert unnamed["holds"] < told(basket, indexes)["holds"]
    two = told(basket, [requirements, *indexes[2:], *windows])
    left = {indexes[0].arguments["item"], indexes[1].arguments["item"]}
    sure = [t for t in basket.tickets if len(t.items) == 3 and left.isdisjoint(t.items)]
    assert two["complete"] == len(sure)
    assert two["holds"] == sum(len(set(t.items) - left) for t in basket.tickets)


def test_items_that_were_met_are_required() -> None:
    basket = instance()
    ticket = next(t for t in basket.tickets if len(t.items) == 3)
    facts = contract.told(DOMAIN, basket, Interface.MEDIATED, [Call("read_bundle", {"bundle": ticket.id})])
    assert facts == {
        ("complete", ticket.id),
        *(("required", item, 1) for item in ticket.items),
        *(("holds", ticket.id, item) for item in ticket.items),
    }


def test_no_conclusion_is_false() -> None:
    """Whatever is read, only facts are told."""
    case = case_of("basket_assembly")
    for number, basket in enumerate(contract.small_instances(case, 100)):
        draws = Draws("tests", "conclusions", number)
        facts = DOMAIN.facts(basket)
        catalogue = list(DOMAIN.catalogue(basket, Interface.DIRECT))
        for _ in range(10):
            calls = draws.sample(catalogue, draws.below(len(catalogue) + 1))
            assert contract.told(DOMAIN, basket, Interface.DIRECT, calls) <= facts


@both
def test_bundles_tell_no_price_and_windows_no_items(interface: Interface) -> None:
    basket = instance()
    desk = BasketDesk(basket, interface)
    for ticket in basket.tickets:
        told = desk.answer("read_bundle", {"bundle": ticket.id})
        numbers = told["quantities"].values() if "quantities" in told else ()
        rows = told.get("recipe_rows", [])
        assert {*numbers, *(row["quantity"] for row in rows)} == {1}
        assert "price" not in str(told)
    for call in DOMAIN.catalogue(basket, interface):
        if call.tool == "read_catalog_window":
            assert "ITM-" not in str(desk.answer(call.tool, call.arguments))


def test_mediated_bundles_need_a_join_and_recipes_are_no_tickets() -> None:
    basket = instance()
    desk = BasketDesk(basket, Interface.MEDIATED)
    recipes = set()
    for ticket in basket.tickets:
        told = desk.answer("read_bundle", {"bundle": ticket.id})
        recipe = told["bundle"]["recipe_id"]
        assert {row["recipe_id"] for row in told["recipe_rows"]} == {recipe}
        assert sorted(row["item_id"] for row in told["recipe_rows"]) == list(ticket.items)
        assert all(ticket.id not in row.values() for row in told["recipe_rows"])
        assert not check(basket, [recipe]).feasible
        with pytest.raises(ToolError, match="no ticket"):
            desk.answer("read_bundle", {"bundle": recipe})
        recipes.add(recipe)
    assert len(recipes) == len(basket.tickets)


def test_rows_of_another_recipe_are_not_joined() -> None:
    basket = instance()
    call = Call("read_bundle", {"bundle": basket.tickets[0].id})
    (executed,) = contract.executed(DOMAIN, basket, Interface.MEDIATED, [call])
    stray = {"recipe_id": "RCP-0", "item_id": basket.items[0], "quantity": 1}
    executed.response["recipe_rows"].append(stray)
    facts = DOMAIN.normalise(DOMAIN.public(basket), [executed])
    assert {fact[2] for fact in facts if fact[0] == "holds"} == set(basket.tickets[0].items)


def test_the_catalogue_is_shuffled_anew_and_the_requirements_are_not() -> None:
    basket = instance()
    direct, mediated = (layout_of(basket, interface) for interface in Interface)
    assert direct.requirements == mediated.requirements != basket.items
    assert direct.catalogue != mediated.catalogue
    assert sorted(direct.catalogue) == sorted(mediated.catalogue) == [t.id for t in basket.tickets]
    window = {"start": 0, "length": 3}
    told = [BasketDesk(basket, i).answer("read_catalog_window", window)["records"] for i in Interface]
    assert told[0] != told[1]


@both
def test_windows_end_with_the_catalogue(interface: Interface) -> None:
    desk = BasketDesk(instance(), interface)
    count = len(instance().tickets)
    told = desk.answer("read_catalog_window", {"start": count - 2, "length": 2})
    assert [row["bundle_id"] for row in told["records"]] == list(desk.layout.catalogue[-2:])
    for start, length in [(count - 2, 3), (count - 1, 2), (10**400, 2)]:
        with pytest.raises(ToolError, match="beyond"):
            desk.answer("read_catalog_window", {"start": start, "length": length})


# Payloads of the public release: ours written in its form, so that no shared data is needed.


def payload_of(basket: Basket, interface: Interface) -> dict[str, Any]:
    layout = layout_of(basket, interface)
    held = {t.id: dict.fromkeys(layout.contents[t.id], 1) for t in basket.tickets}
    rows = []
    bundles: list[dict[str, Any]] = []
    for name in layout.catalogue:
        bundle: dict[str, Any] = {"bundle_id": name, "price": basket.by_id[name].price}
        if interface is Interface.DIRECT:
            bundle["quantities"] = held[name]
        else:
            bundle["recipe_id"] = layout.recipes[name]
            rows += [{"recipe_id": layout.recipes[name], "item_id": i, "quantity": 1} for i in held[name]]
        bundles.append(bundle)
    catalog = {"encoding": interface.value, "bundles": bundles}
    if interface is Interface.MEDIATED:
        catalog["recipe_rows"] = rows
    return {
        "item_count": len(basket.items),
        "catalog_size": len(basket.tickets),
        "source_documents": {
            "catalog": catalog,
            "catalog_order": list(layout.catalogue),
            "requirements": [{"item_id": item, "quantity": 1} for item in layout.requirements],
        },
    }


@both
def test_a_payload_is_read_back(interface: Interface) -> None:
    basket = instance()
    read, desk = of_release(payload_of(basket, interface), interface)
    assert read == basket
    ours = BasketDesk(basket, interface)
    for call in DOMAIN.catalogue(basket, interface):
        assert desk.answer(call.tool, call.arguments) == ours.answer(call.tool, call.arguments)


def documents(payload: dict[str, Any]) -> Any:
    return payload["source_documents"]


Change = Callable[[dict[str, Any]], object]
MALFORMED: list[tuple[Interface, Change, str]] = [
    (Interface.DIRECT, lambda p: p.clear(), "missing or of a wrong type"),
    (Interface.DIRECT, lambda p: p.update(item_count=3), "item_count"),
    (Interface.DIRECT, lambda p: documents(p).update(requirements=3), "missing or of a wrong type"),
    (Interface.DIRECT, lambda p: documents(p)["requirements"][0].update(quantity=2), "required quantity"),
    (Interface.DIRECT, lambda p: documents(p)["requirements"][0].update(item_id="X"), "known items"),
    (Interface.DIRECT, lambda p: documents(p)["catalog_order"].pop(), "permutation"),
    (Interface.DIRECT, lambda p: documents(p)["catalog"].update(encoding="mediated"), "encoding"),
    (Interface.DIRECT, lambda p: documents(p)["catalog"]["bundles"][0].update(price=0), "1 or more"),
    (
        Interface.DIRECT,
        lambda p: documents(p)["catalog"]["bundles"].append(documents(p)["catalog"]["bundles"][0]),
        "permutation",
    ),
    (
        Interface.DIRECT,
        lambda p: documents(p)["catalog"]["bundles"][0]["quantities"].update(X=2),
        "quantity in a bundle",
    ),
    (Interface.MEDIATED, lambda p: documents(p)["catalog"]["recipe_rows"].pop(), "items|own"),
    (
        Interface.MEDIATED,
        lambda p: documents(p)["catalog"]["recipe_rows"][0].update(recipe_id="RCP-0"),
        "no bundle has",
    ),
    (
        Interface.MEDIATED,
        lambda p: documents(p)["catalog"]["recipe_rows"].append(documents(p)["catalog"]["recipe_rows"][0]),
        "twice",
    ),
    (
        Interface.MEDIATED,
        lambda p: documents(p)["catalog"]["bundles"][0].update(
            recipe_id=documents(p)["catalog"]["bundles"][1]["recipe_id"]
        ),
        "one recipe",
    ),
]


@pytest.mark.parametrize(("interface", "change", "why"), MALFORMED)
def test_malformed_payloads_are_refused(interface: Interface, change: Change, why: str) -> None:
    payload = payload_of(instance(), interface)
    change(payload)
    with pytest.raises(DataError, match=why):
        of_release(payload, interface)
