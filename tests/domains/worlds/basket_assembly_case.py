"""What the shared checks need to know of basket assembly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.world_solution import Work
from domains.worlds.basket_assembly import BasketAssembly
from domains.worlds.basket_assembly.generate import Size, generate
from domains.worlds.basket_assembly.instance import Basket, Ticket
from domains.worlds.families import UNCERTIFIED
from tests.domains.worlds.contract import Case


class BasketCase(Case):
    domain = BasketAssembly("reference", UNCERTIFIED)
    sizes: ClassVar = {"L1": 262, "L2": 431, "L3": 528, "L4": 640}
    unordered = True
    redundant = frozenset({"read_requirements", "read_item_index"})

    def small(self, draws: Draws) -> Basket:
        """Two or three items a group from the generator with prices as they are, or small so that totals tie;
        or tickets of three drawn without a grid, some of them twice, and some items with two singles."""
        kind = draws.below(3)
        made = generate(Size(2 + draws.below(2), 9 + draws.below(100), draws.below(100), 150), draws)
        if kind == 0:
            return made
        tickets = [t._replace(price=1 + draws.below(4) * len(t.items)) for t in made.tickets]
        if kind == 1:
            return Basket(made.items, tuple(tickets))
        groups = made.groups
        drawn = [t for t in tickets if len(t.items) == 1]
        for number in range(draws.below(9)):
            triple = sorted(made.items[draws.choice(group)] for group in groups)
            drawn.append(Ticket(f"TKT-{number}", 1 + draws.below(12), tuple(triple)))
        for number in range(draws.below(3)):
            drawn.append(Ticket(f"TKT-S{number}", 1 + draws.below(5), (draws.choice(made.items),)))
        return Basket(made.items, tuple(sorted(drawn)))

    def decisions(self, instance: Basket) -> Iterator[Any]:
        """Every set of tickets none of which meets another; the checker looks whether all is covered."""

        def extend(place: int, taken: list[str], covered: frozenset[str]) -> Iterator[list[str]]:
            if place == len(instance.tickets):
                yield taken
                return
            yield from extend(place + 1, taken, covered)
            ticket = instance.tickets[place]
            if covered.isdisjoint(ticket.items):
                yield from extend(place + 1, [*taken, ticket.id], covered | set(ticket.items))

        yield from extend(0, [], frozenset())

    def plain_work(self, instance: Basket) -> Work:
        """The algorithm of solve.py as a recursion over sets of item handles."""
        order = [instance.items[place] for group in instance.groups for place in group]
        known: dict[frozenset[str], tuple[int, list[str]]] = {frozenset(order): (0, [])}
        transitions = checks = updates = 0

        def value(covered: frozenset[str]) -> tuple[int, list[str]]:
            nonlocal transitions, checks, updates
            if covered in known:
                return known[covered]
            first = next(item for item in order if item not in covered)
            best: tuple[int, list[str]] | None = None
            for ticket in instance.tickets:
                if first not in ticket.items:
                    continue
                transitions += 1
                checks += 1
                if not covered.isdisjoint(ticket.items):
                    continue
                rest, cover = value(covered | set(ticket.items))
                if best is None or ticket.price + rest < best[0]:
                    best = ticket.price + rest, [ticket.id, *cover]
                    updates += 1
            assert best is not None
            known[covered] = best
            return best

        _, cover = value(frozenset())
        return Work(len(known), transitions, checks, updates, len(cover))


CASE = BasketCase()
