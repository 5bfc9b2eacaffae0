"""Tools of station siting and the desk behind them.

The interfaces differ in one tool: *direct* tells the two sites of a demand in its own row; *mediated* tells a
connector, and the sites of the connector as rows to be joined by it within the answer. Connectors are one to
one with demands, appear in answers only, and are no sites. Rows of sites are shuffled anew in each interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beeline.world import Argument, Interface, Presentation, Tool, ToolError, Verdict
from domains.worlds.handles import key_of, scattered
from domains.worlds.station_siting.instance import Siting, check, why_illegal

__all__ = ["SUBMIT", "TOOLS", "Layout", "SitingDesk", "layout_of"]

_SITES = Argument("sites", "array", "Site ids, one for each zone, in any order.")

TOOLS = (
    Tool(
        "read_zone",
        "Tell both sites of one zone, with option and operating cost.",
        (Argument("zone", "string", "A zone id."),),
    ),
    Tool(
        "read_demand",
        "Tell the two sites that one demand needs, and the reward that it pays.",
        (Argument("demand", "string", "A demand id."),),
    ),
    Tool(
        "read_zone_window",
        "Tell the sites of two or three consecutive zones in one call, with option and operating cost.",
        (
            Argument("start", "string", "The id of the first zone of the window."),
            Argument("length", "integer", "How many zones: 2 or 3.", 2, 3),
        ),
    ),
    Tool("evaluate_layout", "Judge one candidate layout, once: is it legal and what is it worth?", (_SITES,)),
)
SUBMIT = Tool("submit_sites", "Hand in the final layout. Free, binding, ends the task.", (_SITES,))


@dataclass(frozen=True, slots=True)
class Layout:
    """The orders and connectors of one interface."""

    sites: tuple[str, ...]
    """All sites; rows of sites are told in this order."""
    required: Mapping[str, tuple[str, ...]]
    """The two sites of each demand in the order in which they are told."""
    connectors: Mapping[str, str]
    """Connector of each demand, one to one; used in the mediated interface."""


def layout_of(instance: Siting, interface: Interface) -> Layout:
    """The layout of our own worlds: by handles alone."""
    return Layout(
        sites=tuple(scattered(instance.place, "sites", interface)),
        required={
            demand.id: tuple(
                scattered(
                    (
                        instance.zones[demand.left].sites[demand.left_option],
                        instance.zones[demand.right].sites[demand.right_option],
                    ),
                    "required",
                    interface,
                    demand.id,
                )
            )
            for demand in instance.demands
        },
        connectors={d.id: f"CON-{key_of('connector', d.id)[:14].upper()}" for d in instance.demands},
    )


class SitingDesk(Presentation):
    """Answers for one instance behind one interface."""

    def __init__(self, instance: Siting, interface: Interface, layout: Layout | None = None) -> None:
        self.instance = instance
        self.interface = interface
        self.layout = layout or layout_of(instance, interface)
        self.zone_at = {zone.id: i for i, zone in enumerate(instance.zones)}
        self.reward_of = {demand.id: demand.reward for demand in instance.demands}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        if tool == "read_zone":
            return {"rows": self._rows(self._zone(arguments["zone"]), 1)}
        if tool == "read_zone_window":
            first, length = self._zone(arguments["start"]), arguments["length"]
            if first + length > len(self.instance.zones):
                raise ToolError("the window reaches beyond the last zone")
            return {"site_rows": self._rows(first, length)}
        if tool == "read_demand":
            return self._demand(arguments["demand"])
        raise ToolError(f"there is no tool named {tool}")

    def evaluate(self, value: Any) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        verdict = self.check(value)
        return {
            "legal": verdict.feasible,
            "objective": verdict.objective,
            "reason": why_illegal(self.instance, value),
        }

    def check(self, value: Any) -> Verdict:
        """See :class:`~beeline.world.Presentation`."""
        return check(self.instance, value)

    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        return {"submitted": True, "legal": verdict.feasible, "objective": verdict.objective}

    def _zone(self, name: str) -> int:
        if name not in self.zone_at:
            raise ToolError("no zone has this id")
        return self.zone_at[name]

    def _rows(self, first: int, length: int) -> list[dict[str, Any]]:
        zones = self.instance.zones[first : first + length]
        told = {
            site: {
                "zone_id": zone.id,
                "site_id": site,
                "option": option,
                "operating_cost": zone.costs[option],
            }
            for zone in zones
            for option, site in enumerate(zone.sites)
        }
        return [told[site] for site in self.layout.sites if site in told]

    def _demand(self, name: str) -> dict[str, Any]:
        if name not in self.reward_of:
            raise ToolError("no demand has this id")
        sites, reward = self.layout.required[name], self.reward_of[name]
        if self.interface is Interface.DIRECT:
            row = {"demand_id": name, "required_sites": list(sites), "reward": reward}
            return {"encoding": "direct", "demand": row}
        connector = self.layout.connectors[name]
        return {
            "encoding": "mediated",
            "demand": {"connector_id": connector, "demand_id": name, "reward": reward},
            "connector_site_rows": [{"connector_id": connector, "site_id": site} for site in sites],
        }
