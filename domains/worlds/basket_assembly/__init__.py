"""basket_assembly: choose tickets that cover every item exactly once, at the least total price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.world import Interface, Presentation, Verdict
from beeline.world_domain import WorldDomain, rotation
from beeline.world_solution import Solution
from domains.worlds.basket_assembly import facts as facts_
from domains.worlds.basket_assembly import generate as generate_
from domains.worlds.basket_assembly import instance as instance_
from domains.worlds.basket_assembly import present, release, solve, verify, words
from domains.worlds.basket_assembly.generate import Size
from domains.worlds.basket_assembly.instance import Basket

__all__ = ["BasketAssembly"]


class BasketAssembly(WorldDomain[Basket]):
    """The family; see the modules of this package for each part."""

    name = "basket_assembly"
    title = "Basket Assembly"
    task = "Choose tickets that cover every item exactly once so that their prices add up to the least."
    sense = "min"
    decision_key = "tickets"
    container = "array"
    tools = present.TOOLS
    submit = present.SUBMIT
    costs = rotation(present.TOOLS, (2, 1, 5, 8, 16), (2, 2, 3, 8, 16), (2, 3, 1, 8, 16))
    channels = facts_.CHANNELS
    shuffled_windows = True
    sizes = generate_.SIZES

    def generate(self, size: Size, draws: Draws) -> Basket:
        """See :mod:`domains.worlds.basket_assembly.generate`."""
        return generate_.generate(size, draws)

    def solve(self, instance: Basket) -> Solution:
        """See :mod:`domains.worlds.basket_assembly.solve`."""
        return solve.solve(instance)

    def verify(self, instance: Basket) -> Solution:
        """See :mod:`domains.worlds.basket_assembly.verify`."""
        return verify.verify(instance)

    def check(self, instance: Basket, value: Any) -> Verdict:
        """Known tickets that cover each item exactly once."""
        return instance_.check(instance, value)

    def reference(self, instance: Basket) -> Any:
        """Cheapest ticket first."""
        return solve.reference(instance)

    def random_decision(self, instance: Basket, draws: Draws) -> Any:
        """Tickets of three in a drawn order while they fit, then single ones."""
        return solve.random_cover(instance, draws)

    def to_json(self, instance: Basket) -> dict[str, Any]:
        """See :class:`~domains.worlds.basket_assembly.instance.Basket`."""
        return instance.as_json()

    def from_json(self, data: Mapping[str, Any]) -> Basket:
        """See :class:`~domains.worlds.basket_assembly.instance.Basket`."""
        return Basket.of_json(data)

    def present(self, instance: Basket, interface: Interface) -> Presentation:
        """See :mod:`domains.worlds.basket_assembly.present`."""
        return present.BasketDesk(instance, interface)

    def public(self, instance: Basket) -> dict[str, Any]:
        """The numbers of items and tickets."""
        return {"item_count": len(instance.items), "catalog_size": len(instance.tickets)}

    def words(self, public: Mapping[str, Any], interface: Interface) -> tuple[str, str]:
        """The same in both interfaces."""
        return words.environment(public), words.REQUEST

    def plans(self, instance: Basket, interface: Interface) -> tuple[Plan, Plan]:
        """Bundles, indexes."""
        return facts_.plans(instance)

    def catalogue(self, instance: Basket, interface: Interface) -> Sequence[Call]:
        """Equal in both interfaces."""
        return facts_.catalogue(instance)

    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        """See :mod:`domains.worlds.basket_assembly.facts`."""
        return facts_.normalise(public, executed)

    def facts(self, instance: Basket) -> Facts:
        """3n + 2c + I of them."""
        return facts_.all_facts(instance)

    def channel(self, fact: Fact) -> str:
        """Structure or prices."""
        return facts_.channel(fact)

    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> Basket:
        """See :mod:`domains.worlds.basket_assembly.facts`."""
        return facts_.rebuild(public, facts)

    def variant(self, instance: Basket, channel: str, draws: Draws) -> Basket:
        """See :mod:`domains.worlds.basket_assembly.facts`."""
        return facts_.variant(instance, channel, draws)

    def of_release(self, payload: Mapping[str, Any], interface: Interface) -> tuple[Basket, Presentation]:
        """See :mod:`domains.worlds.basket_assembly.release`."""
        return release.of_release(payload, interface)
