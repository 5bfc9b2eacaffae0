"""transit_routing: one leg a stage, directed transfer costs between lines, one residue to meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.world import Interface, Presentation, Verdict
from beeline.world_domain import WorldDomain, rotation
from beeline.world_solution import Solution
from domains.worlds.transit_routing import facts as facts_
from domains.worlds.transit_routing import generate as generate_
from domains.worlds.transit_routing import instance as instance_
from domains.worlds.transit_routing import present, solve, verify, words
from domains.worlds.transit_routing.generate import Size
from domains.worlds.transit_routing.instance import Transit

__all__ = ["TransitRouting"]


class TransitRouting(WorldDomain[Transit]):
    """The family; see the modules of this package for each part."""

    name = "transit_routing"
    title = "Transit Routing"
    task = "Choose one leg for each stage of a route so that travel and transfer costs are least."
    sense = "min"
    decision_key = "legs"
    container = "array"
    tools = present.TOOLS
    submit = present.SUBMIT
    costs = rotation(present.TOOLS, (2, 2, 3, 4, 12, 250), (2, 6, 3, 4, 7, 250), (3, 4, 3, 5, 9, 250))
    channels = facts_.CHANNELS
    sizes = generate_.SIZES

    def generate(self, size: Size, draws: Draws) -> Transit:
        """See :mod:`domains.worlds.transit_routing.generate`."""
        return generate_.generate(size, draws)

    def solve(self, instance: Transit) -> Solution:
        """See :mod:`domains.worlds.transit_routing.solve`."""
        return solve.solve(instance)

    def verify(self, instance: Transit) -> Solution:
        """See :mod:`domains.worlds.transit_routing.verify`."""
        return verify.verify(instance)

    def check(self, instance: Transit, value: Any) -> Verdict:
        """One known leg a stage in order, and the required residue."""
        return instance_.check(instance, value)

    def reference(self, instance: Transit) -> Any:
        """Travel time only, residue kept."""
        return solve.reference(instance)

    def random_decision(self, instance: Transit, draws: Draws) -> Any:
        """A legal route drawn stage by stage."""
        return solve.random_route(instance, draws)

    def to_json(self, instance: Transit) -> dict[str, Any]:
        """See :class:`~domains.worlds.transit_routing.instance.Transit`."""
        return instance.as_json()

    def from_json(self, data: Mapping[str, Any]) -> Transit:
        """See :class:`~domains.worlds.transit_routing.instance.Transit`."""
        return Transit.of_json(data)

    def present(self, instance: Transit, interface: Interface) -> Presentation:
        """See :mod:`domains.worlds.transit_routing.present`."""
        return present.TransitDesk(instance, interface)

    def public(self, instance: Transit) -> dict[str, Any]:
        """The prompt states nothing of the instance; the survey does."""
        return {}

    def words(self, public: Mapping[str, Any], interface: Interface) -> tuple[str, str]:
        """The same in both interfaces."""
        return words.ENVIRONMENT, words.REQUEST

    def plans(self, instance: Transit, interface: Interface) -> tuple[Plan, Plan]:
        """Point reads, windows."""
        return facts_.plans(instance)

    def catalogue(self, instance: Transit, interface: Interface) -> Sequence[Call]:
        """Equal in both interfaces."""
        return facts_.catalogue(instance)

    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        """See :mod:`domains.worlds.transit_routing.facts`."""
        return facts_.normalise(executed)

    def facts(self, instance: Transit) -> Facts:
        """3dk + p + 1 of them."""
        return facts_.all_facts(instance)

    def channel(self, fact: Fact) -> str:
        """Route, membership or transfer."""
        return facts_.channel(fact)

    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> Transit:
        """See :mod:`domains.worlds.transit_routing.facts`."""
        return facts_.rebuild(facts)

    def variant(self, instance: Transit, channel: str, draws: Draws) -> Transit:
        """See :mod:`domains.worlds.transit_routing.facts`."""
        return facts_.variant(instance, channel, draws)
