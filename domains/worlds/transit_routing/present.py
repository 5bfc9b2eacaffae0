"""Tools of transit routing and the desk behind them.

The interfaces differ in one tool: *direct* memberships give a line for each leg; *mediated* ones give
a platform slot for each leg and a line for each slot, to be joined within the response. Slots are
numbered within a response; the platforms behind them are never named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beeline.world import Argument, Interface, Presentation, Tool, ToolError, Verdict
from domains.worlds.handles import scattered
from domains.worlds.transit_routing.instance import Transit, check, price, resolve_legs

__all__ = ["SUBMIT", "TOOLS", "TransitDesk"]

_LEGS = Argument("legs", "array", "Leg ids, one for each stage, in stage order.")

TOOLS = (
    Tool("survey_route", "List the stations in order, all line ids, and the residue rule of the route."),
    Tool(
        "read_departures",
        "List the legs that leave one station, with travel time and ticket residue.",
        (Argument("station_id", "string", "A station other than the last one."),),
    ),
    Tool(
        "read_stage_memberships",
        "Tell which line each leg that leaves one station runs on.",
        (Argument("station_id", "string", "A station other than the last one."),),
    ),
    Tool(
        "read_transfer_costs",
        "Give the cost of changing from one line to every line, in the order of the survey's line ids.",
        (Argument("line_id", "string", "The line that is left."),),
    ),
    Tool(
        "read_station_window",
        "List the departures of two or three consecutive stations in one call; tells no lines.",
        (
            Argument("start_station_id", "string", "The first station of the window."),
            Argument("span", "integer", "How many stations: 2 or 3.", 2, 3),
        ),
    ),
    Tool("evaluate_route", "Judge one candidate route, once: is it legal and what does it cost?", (_LEGS,)),
)
SUBMIT = Tool("submit_route", "Hand in the final route. Free, binding, ends the task.", (_LEGS,))

_DEPARTURES = ["leg_id", "travel_time", "ticket_residue"]


class TransitDesk(Presentation):
    """Answers for one instance behind one interface."""

    def __init__(self, instance: Transit, interface: Interface) -> None:
        self.instance = instance
        self.interface = interface
        self.stage_of = {station: i for i, station in enumerate(instance.stations[:-1])}
        self.line_at = {line: a for a, line in enumerate(instance.lines)}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        if tool == "survey_route":
            return self._survey()
        if tool == "read_departures":
            stage = self._stage(arguments["station_id"])
            return {
                "station_id": arguments["station_id"],
                "to_station": self.instance.stations[stage + 1],
                "departure_columns": _DEPARTURES,
                "departures": self._departures(stage),
            }
        if tool == "read_stage_memberships":
            return self._memberships(arguments["station_id"])
        if tool == "read_transfer_costs":
            line = arguments["line_id"]
            if line not in self.line_at:
                raise ToolError("no line has this id")
            costs = list(self.instance.transfers[self.line_at[line]])
            return {"from_line_id": line, "column_order": "survey_line_ids", "costs": costs}
        if tool == "read_station_window":
            return self._window(arguments["start_station_id"], arguments["span"])
        raise ToolError(f"there is no tool named {tool}")

    def evaluate(self, value: Any) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        verdict = self.check(value)
        legs = resolve_legs(self.instance, value)
        if not verdict.feasible or legs is None:
            return {"legal": False}
        route = price(self.instance, legs)
        return {
            "legal": True,
            "transfers": route.transfers,
            "travel_time": route.travel_time,
            "transfer_cost": route.transfer_cost,
            "ticket_residue": route.residue,
            "raw_cost": route.raw,
            "encoded_cost": verdict.objective,
        }

    def check(self, value: Any) -> Verdict:
        """See :class:`~beeline.world.Presentation`."""
        return check(self.instance, value)

    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        return {"accepted": True, "legal": verdict.feasible, "encoded_cost": verdict.objective}

    def _stage(self, station: str) -> int:
        if station not in self.stage_of:
            raise ToolError("no legs leave a station with this id")
        return self.stage_of[station]

    def _survey(self) -> dict[str, Any]:
        instance = self.instance
        return {
            "source": instance.stations[0],
            "destination": instance.stations[-1],
            "ordered_stations": list(instance.stations),
            "line_ids": list(instance.lines),
            "route_depth": len(instance.legs),
            "checksum_modulus": instance.modulus,
            "required_ticket_residue": instance.required,
        }

    def _departures(self, stage: int) -> list[list[Any]]:
        return [[leg.id, leg.time, leg.residue] for leg in self.instance.legs[stage]]

    def _memberships(self, station: str) -> dict[str, Any]:
        legs = self.instance.legs[self._stage(station)]
        lines = self.instance.lines
        if self.interface is Interface.DIRECT:
            return {
                "station_id": station,
                "representation": "direct_leg_line",
                "row_columns": ["leg_id", "line_id"],
                "rows": [[leg.id, lines[leg.line]] for leg in legs],
            }
        slots = {leg: slot for slot, leg in enumerate(scattered((leg.id for leg in legs), "platform"))}
        return {
            "station_id": station,
            "representation": "leg_platform_line",
            "leg_platform_columns": ["leg_id", "platform_slot"],
            "leg_platform_rows": [[leg.id, slots[leg.id]] for leg in legs],
            "platform_line_columns": ["platform_slot", "line_id"],
            "platform_line_rows": sorted([slots[leg.id], lines[leg.line]] for leg in legs),
        }

    def _window(self, start: str, span: int) -> dict[str, Any]:
        stage = self._stage(start)
        stations = self.instance.stations
        if stage + span > len(self.instance.legs):
            raise ToolError("the window reaches beyond the last departure")
        return {
            "start_station_id": start,
            "span": span,
            "stages": [
                {
                    "from_station": stations[i],
                    "to_station": stations[i + 1],
                    "departure_columns": _DEPARTURES,
                    "departures": self._departures(i),
                }
                for i in range(stage, stage + span)
            ],
        }
