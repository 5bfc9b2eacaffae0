"""station_siting: choose one site in each zone of a corridor, so that rewards exceed costs by the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.facts import Call, Executed, Fact, Facts, Plan
from beeline.world import Interface, Presentation, Verdict
from beeline.world_domain import WorldDomain, rotation
from beeline.world_solution import Solution
from domains.worlds.station_siting import facts as facts_
from domains.worlds.station_siting import generate as generate_
from domains.worlds.station_siting import instance as instance_
from domains.worlds.station_siting import present, release, solve, verify, words
from domains.worlds.station_siting.generate import Size
from domains.worlds.station_siting.instance import Siting

__all__ = ["StationSiting"]


class StationSiting(WorldDomain[Siting]):
    """The family; see the modules of this package for each part."""

    name = "station_siting"
    title = "Station Siting"
    task = (
        "Choose one site in each zone, few enough of them extended, so that the rewards of the demands "
        "served exceed the operating costs by the most."
    )
    sense = "max"
    decision_key = "sites"
    container = "array"
    tools = present.TOOLS
    submit = present.SUBMIT
    costs = rotation(present.TOOLS, (2, 3, 7, 5), (4, 3, 7, 5), (6, 3, 7, 5))
    channels = facts_.CHANNELS
    sizes = generate_.SIZES

    def generate(self, size: Size, draws: Draws) -> Siting:
        """See :mod:`domains.worlds.station_siting.generate`."""
        return generate_.generate(size, draws)

    def solve(self, instance: Siting) -> Solution:
        """See :mod:`domains.worlds.station_siting.solve`."""
        return solve.solve(instance)

    def verify(self, instance: Siting) -> Solution:
        """See :mod:`domains.worlds.station_siting.verify`."""
        return verify.verify(instance)

    def check(self, instance: Siting, value: Any) -> Verdict:
        """One known site for each zone, at most H of them with option 1."""
        return instance_.check(instance, value)

    def reference(self, instance: Siting) -> Any:
        """The economics-only layout."""
        return solve.reference(instance)

    def random_decision(self, instance: Siting, draws: Draws) -> Any:
        """Extended sites in H zones that are drawn."""
        return solve.random_layout(instance, draws)

    def to_json(self, instance: Siting) -> dict[str, Any]:
        """See :class:`~domains.worlds.station_siting.instance.Siting`."""
        return instance.as_json()

    def from_json(self, data: Mapping[str, Any]) -> Siting:
        """See :class:`~domains.worlds.station_siting.instance.Siting`."""
        return Siting.of_json(data)

    def present(self, instance: Siting, interface: Interface) -> Presentation:
        """See :mod:`domains.worlds.station_siting.present`."""
        return present.SitingDesk(instance, interface)

    def public(self, instance: Siting) -> dict[str, Any]:
        """Counts, limits, zone handles in corridor order, demand handles."""
        return {
            "facility_limit": len(instance.zones),
            "max_extended_sites": instance.most_extended,
            "interaction_bandwidth": instance.bandwidth,
            "demand_count": len(instance.demands),
            "zone_handles": [zone.id for zone in instance.zones],
            "demand_handles": [demand.id for demand in instance.demands],
        }

    def words(self, public: Mapping[str, Any], interface: Interface) -> tuple[str, str]:
        """The same in both interfaces."""
        return words.environment(public), words.REQUEST

    def plans(self, instance: Siting, interface: Interface) -> tuple[Plan, Plan]:
        """Points, windows."""
        return facts_.plans(instance)

    def catalogue(self, instance: Siting, interface: Interface) -> Sequence[Call]:
        """Equal in both interfaces."""
        return facts_.catalogue(instance)

    def normalise(self, public: Mapping[str, Any], executed: Sequence[Executed]) -> Facts:
        """See :mod:`domains.worlds.station_siting.facts`."""
        return facts_.normalise(executed)

    def facts(self, instance: Siting) -> Facts:
        """4n + D of them."""
        return facts_.all_facts(instance)

    def channel(self, fact: Fact) -> str:
        """Economics or demands."""
        return facts_.channel(fact)

    def rebuild(self, public: Mapping[str, Any], facts: Facts) -> Siting:
        """See :mod:`domains.worlds.station_siting.facts`."""
        return facts_.rebuild(public, facts)

    def variant(self, instance: Siting, channel: str, draws: Draws) -> Siting:
        """See :mod:`domains.worlds.station_siting.facts`."""
        return facts_.variant(instance, channel, draws)

    def of_release(self, payload: Mapping[str, Any], interface: Interface) -> tuple[Siting, Presentation]:
        """See :mod:`domains.worlds.station_siting.release`."""
        return release.of_release(payload, interface)
