"""Tools of authorization planning and the desk behind them.

The interfaces differ in the authorization tools. *Direct* rows give predecessor, successor and handoff cost;
*mediated* ones give an approval slot for each predecessor, and successor and cost for each slot, to be
joined within the stage. Slots are counted from 0 in each stage; the approvals behind them are never named.
Override codes are derived from the plays and appear in answers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beeline.world import Argument, Interface, Presentation, Tool, ToolError, Verdict
from domains.worlds.authorization_planning.instance import Authorization, check, price, resolve_plays
from domains.worlds.handles import key_of

__all__ = ["SUBMIT", "TOOLS", "AuthorizationDesk", "code_of"]

_PLAYS = Argument("plays", "array", "Play ids, one of each stage, in any order.")
_STAGE = (Argument("stage", "string", "A stage id."),)
_WINDOW = (
    Argument("start", "integer", "Position of the first stage, counted from 0.", 0),
    Argument("length", "integer", "How many stages: 2 or 3.", 2, 3),
)

TOOLS = (
    Tool(
        "read_catalog_stage",
        "List the plays of one stage with base cost, override code and clearance residue.",
        _STAGE,
    ),
    Tool(
        "read_authorization_stage",
        "Tell which handoffs lead into the plays of one stage, from where, and at what cost.",
        _STAGE,
    ),
    Tool(
        "read_catalog_window",
        "List the plays of two or three consecutive stages in one call.",
        _WINDOW,
    ),
    Tool(
        "read_authorization_window",
        "Tell the handoffs into two or three consecutive stages in one call.",
        _WINDOW,
    ),
    Tool(
        "read_override_policy",
        "Give the residue rule, and the cost adjustment of every override code of all stages.",
    ),
    Tool(
        "evaluate_package",
        "Judge one candidate package, once: is it legal, and what are the parts of its cost?",
        (_PLAYS,),
    ),
)
SUBMIT = Tool("submit_package", "Hand in the final package. Free, binding, ends the task.", (_PLAYS,))

_CATALOG = ["play_id", "base_cost", "override_code", "clearance_residue"]
_DIRECT = ["predecessor_id", "successor_id", "handoff_cost"]
_ENTRIES = ["predecessor_id", "approval_slot"]
_EXITS = ["approval_slot", "successor_id", "handoff_cost"]
_POLICY = ["override_code", "cost_adjustment"]


def code_of(play: str) -> str:
    """The override code of a play."""
    return f"OVR-{key_of('override', play)[:12].upper()}"


class AuthorizationDesk(Presentation):
    """Answers for one instance behind one interface."""

    def __init__(self, instance: Authorization, interface: Interface) -> None:
        self.instance = instance
        self.interface = interface
        self.stage_at = {stage: i for i, stage in enumerate(instance.stages)}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        if tool == "read_override_policy":
            return self._policy()
        if tool in ("read_catalog_stage", "read_authorization_stage"):
            if arguments["stage"] not in self.stage_at:
                raise ToolError("no stage has this id")
            start, length = self.stage_at[arguments["stage"]], 1
        elif tool in ("read_catalog_window", "read_authorization_window"):
            start, length = arguments["start"], arguments["length"]
            if start + length > len(self.instance.stages):
                raise ToolError("the window reaches beyond the last stage")
        else:
            raise ToolError(f"there is no tool named {tool}")
        shown = range(start, start + length)
        if tool.startswith("read_catalog"):
            return {"columns": _CATALOG, "stages": [self._catalog(i) for i in shown]}
        if self.interface is Interface.DIRECT:
            return {"encoding": "direct", "columns": _DIRECT, "stages": [self._direct(i) for i in shown]}
        return {
            "encoding": "staged",
            "entry_columns": _ENTRIES,
            "exit_columns": _EXITS,
            "stages": [self._staged(i) for i in shown],
        }

    def evaluate(self, value: Any) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        verdict = self.check(value)
        positions = resolve_plays(self.instance, value)
        package = None if positions is None else price(self.instance, positions)
        if not verdict.feasible or package is None:
            return {"complete": False, "legal": False}
        return {
            "complete": True,
            "legal": True,
            "base_cost": package.base,
            "override_adjustment": package.adjustment,
            "authorization_cost": package.authorization,
            "total_cost": verdict.objective,
        }

    def check(self, value: Any) -> Verdict:
        """See :class:`~beeline.world.Presentation`."""
        return check(self.instance, value)

    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        """See :class:`~beeline.world.Presentation`."""
        return {"accepted": True, "legal": verdict.feasible, "total_cost": verdict.objective}

    def _policy(self) -> dict[str, Any]:
        rows = [[code_of(play.id), play.adjustment] for stage in self.instance.plays for play in stage]
        return {
            "checksum": {"modulus": self.instance.modulus, "required_residue": self.instance.required},
            "columns": _POLICY,
            "rows": sorted(rows),
        }

    def _catalog(self, stage: int) -> dict[str, Any]:
        return {
            "stage_id": self.instance.stages[stage],
            "rows": [
                [play.id, play.base, code_of(play.id), play.residue] for play in self.instance.plays[stage]
            ],
        }

    def _handoffs(self, stage: int) -> list[tuple[str, str, int]]:
        """(predecessor, successor, cost) of the handoffs into a stage, sorted."""
        plays = self.instance.plays
        before = [play.id for play in plays[stage - 1]] if stage else [self.instance.source]
        return [
            (before[row.before], plays[stage][row.after].id, row.cost)
            for row in self.instance.handoffs[stage]
        ]

    def _direct(self, stage: int) -> dict[str, Any]:
        rows = [list(row) for row in self._handoffs(stage)]
        return {"stage_id": self.instance.stages[stage], "rows": rows}

    def _staged(self, stage: int) -> dict[str, Any]:
        rows = sorted(self._handoffs(stage), key=lambda row: key_of("approval", row[0], row[1]))
        return {
            "stage_id": self.instance.stages[stage],
            "authorization_entries": sorted([before, slot] for slot, (before, _, _) in enumerate(rows)),
            "authorization_exits": [[slot, after, cost] for slot, (_, after, cost) in enumerate(rows)],
        }
