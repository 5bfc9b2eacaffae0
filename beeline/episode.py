"""The episode: one sans-I/O generator that every agent plays.

The generator yields an :class:`Ask` (the prompt, then tool results) and is sent a :class:`Turn`
(the model's tool calls). Offline agents answer in a plain loop, a model answers with ``await``; the
rules below exist once.

Each call of a turn is processed in order:

1. no usable tool name, or arguments that are no JSON object: an error, free;
2. an information tool whose cost does not fit the rest of the budget: refused, free; a refused
   evaluation does not use up the one evaluation;
3. an information tool beyond ``max_calls`` executed ones: not executed, and the episode ends;
4. a name that is no tool: an error, free;
5. an information tool otherwise is executed and charged in full, whatever it answers: wrong
   arguments, an exact repeat and a second evaluation included;
6. the evaluator answers once. A candidate of any content uses it up; wrong argument *names* do not;
7. the final-decision tool is free. With the one right argument of the right container type it
   binds, feasible or not, and the episode ends; the rest of the turn is dropped. Otherwise an
   error, and the model may try again.

A turn without tool calls ends the episode, and so does the turn limit. Every call is logged with
its charge, the running spend and why it was refused, if it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Any

from beeline.facts import Executed
from beeline.world import Tool, ToolError, Verdict, World, compact

__all__ = [
    "Ask",
    "Called",
    "EpisodeEnding",
    "EpisodeLimits",
    "EpisodeResult",
    "Status",
    "ToolCall",
    "Turn",
    "episode",
    "play",
]


class EpisodeEnding(StrEnum):
    """What ended an episode."""

    SUBMITTED = "submitted"
    NO_FINAL_DECISION = "no_final_decision"
    MAX_TURNS = "max_turns"
    INFO_CALL_CAP = "info_call_cap"


class Status(StrEnum):
    """What became of one call."""

    EXECUTED = "executed"
    """Answered, and charged."""
    FAILED = "failed"
    """Executed and charged, answered with an error."""
    REFUSED = "refused"
    """Not executed and free; ``reason`` says why."""
    BOUND = "bound"
    """The final decision."""
    UNBOUND = "unbound"
    """A call of the final-decision tool that could not be bound."""


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """What bounds an episode besides its budget; part of a version's definition."""

    max_turns: int = 300
    max_calls: int = 255
    """Executed information calls, evaluation included."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it. ``arguments`` is JSON text or an object already parsed; both
    may be anything at all."""

    name: Any
    arguments: Any = "{}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model."""

    calls: Sequence[ToolCall] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the model is told now: at turn 1 the world's texts and tools (taken from the world), later
    the results of the calls of the turn before, in order, as JSON text."""

    turn: int
    world: World
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """One logged call."""

    turn: int
    tool: Any
    arguments: Any
    """The parsed object; the raw value where it could not be parsed."""
    result: Mapping[str, Any]
    status: Status
    charge: int
    spend: int
    """All charges up to and including this call."""
    reason: str | None = None
    """Why it was refused or failed: bad_name, bad_json, budget, exhausted, call_cap, unknown_tool,
    bad_arguments, no_answer, evaluated, wrong_container; ``fault: ...`` for an error of ours."""

    def as_dict(self) -> dict[str, Any]:
        """A line of a trace."""
        return {
            "turn": self.turn,
            "tool": self.tool,
            "arguments": self.arguments,
            "result": self.result,
            "status": self.status.value,
            "charge": self.charge,
            "spend": self.spend,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """How an episode ended and everything that was called."""

    ending: EpisodeEnding
    decision: Any
    """The value under the decision key; None when nothing was bound."""
    verdict: Verdict | None
    """What the checker said of the decision; None when nothing was bound."""
    turns: int
    log: tuple[Called, ...]

    @property
    def bound(self) -> bool:
        """Whether a decision was bound."""
        return self.ending is EpisodeEnding.SUBMITTED

    @property
    def calls(self) -> int:
        """Executed information calls, evaluation included."""
        return sum(c.status in _EXECUTED for c in self.log)

    @property
    def spend(self) -> int:
        """The sum of all charges."""
        return self.log[-1].spend if self.log else 0

    @property
    def refused(self) -> int:
        """Calls that were not executed."""
        return sum(c.status is Status.REFUSED for c in self.log)

    @property
    def attempted(self) -> bool:
        """Whether the final-decision tool was called in a form that could not be bound."""
        return any(c.status is Status.UNBOUND for c in self.log)

    @property
    def budget_capped(self) -> bool:
        """Nothing bound, and the last information request found nothing affordable."""
        asked = [c for c in self.log if c.status in _EXECUTED or c.reason in ("budget", "exhausted")]
        return not self.bound and bool(asked) and asked[-1].reason == "exhausted"

    @property
    def faults(self) -> list[str]:
        """Errors of ours that were told to the model as errors; a test demands none."""
        return [c.reason for c in self.log if c.reason is not None and c.reason.startswith("fault")]

    def executed(self, world: World) -> list[Executed]:
        """The answered fact-revealing calls, for a normaliser."""
        return [
            Executed(c.tool, c.arguments, c.result)
            for c in self.log
            if c.status is Status.EXECUTED and c.tool != world.evaluator.name
        ]


_EXECUTED = (Status.EXECUTED, Status.FAILED)


@dataclass(slots=True)
class _Ledger:
    """The one account of an episode."""

    world: World
    limits: EpisodeLimits
    spend: int = 0
    executed: int = 0
    evaluated: bool = False
    log: list[Called] = field(default_factory=list)

    def note(
        self,
        turn: int,
        tool: Any,
        arguments: Any,
        result: Mapping[str, Any],
        status: Status,
        reason: str | None = None,
        charge: int = 0,
    ) -> Called:
        """Charge and log."""
        self.spend += charge
        called = Called(turn, tool, arguments, result, status, charge, self.spend, reason)
        self.log.append(called)
        return called


def episode(world: World, limits: EpisodeLimits | None = None) -> Generator[Ask, Turn, EpisodeResult]:
    """Play a world. Yields what the model is told, is sent its turn, returns the result."""
    limits = limits or EpisodeLimits()
    ledger = _Ledger(world, limits)
    results: tuple[str, ...] = ()
    for turn in range(1, limits.max_turns + 1):
        reply = yield Ask(turn, world, results)
        if not reply.calls:
            return EpisodeResult(EpisodeEnding.NO_FINAL_DECISION, None, None, turn, tuple(ledger.log))
        answers = []
        for call in reply.calls:
            called = _process(ledger, turn, call)
            if called.status is Status.BOUND:
                value = called.arguments[world.decision_key]
                verdict = _judge(world, value)
                return EpisodeResult(EpisodeEnding.SUBMITTED, value, verdict, turn, tuple(ledger.log))
            if called.reason == "call_cap":
                return EpisodeResult(EpisodeEnding.INFO_CALL_CAP, None, None, turn, tuple(ledger.log))
            answers.append(compact(called.result))
        results = tuple(answers)
    return EpisodeResult(EpisodeEnding.MAX_TURNS, None, None, limits.max_turns, tuple(ledger.log))


def play(world: World, agent: Callable[[Ask], Turn], limits: EpisodeLimits | None = None) -> EpisodeResult:
    """Drive an episode with an agent that answers at once."""
    steps = episode(world, limits)
    try:
        ask = next(steps)
        while True:
            ask = steps.send(agent(ask))
    except StopIteration as stop:
        result: EpisodeResult = stop.value
        return result


def _process(ledger: _Ledger, turn: int, call: ToolCall) -> Called:
    world = ledger.world
    name = call.name
    if not isinstance(name, str) or not name:
        result = {"error": "the call names no tool"}
        return ledger.note(turn, _plain(name), _plain(call.arguments), result, Status.REFUSED, "bad_name")
    submitting = name == world.submit.name
    arguments = _parse(call.arguments)
    if arguments is None:
        result = {"error": "the arguments are not a JSON object"}
        status = Status.UNBOUND if submitting else Status.REFUSED
        return ledger.note(turn, name, _plain(call.arguments), result, status, "bad_json")
    if submitting:
        return _submit(ledger, turn, arguments)
    tool = next((tool for tool in world.tools if tool.name == name), None)
    if tool is None:
        result = {"error": f"there is no tool named {name[:80]}"}
        return ledger.note(turn, name, arguments, result, Status.REFUSED, "unknown_tool")
    cost = world.costs[name]
    if ledger.spend + cost > world.budget:
        payload, reason = _over_budget(ledger, name, cost)
        return ledger.note(turn, name, arguments, payload, Status.REFUSED, reason)
    if ledger.executed >= ledger.limits.max_calls:
        result = {"error": f"no more than {ledger.limits.max_calls} information calls are executed"}
        return ledger.note(turn, name, arguments, result, Status.REFUSED, "call_cap")
    ledger.executed += 1
    response, why = _execute(ledger, tool, arguments)
    status = Status.EXECUTED if why is None else Status.FAILED
    return ledger.note(turn, name, arguments, response, status, why, cost)


def _execute(ledger: _Ledger, tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The response of a dispatched information call, and why it failed if it did."""
    world = ledger.world
    complaint = tool.names_wrong(arguments)
    if complaint is not None:
        return {"error": complaint}, "bad_arguments"
    try:
        if tool is world.evaluator:
            if ledger.evaluated:
                return {
                    "error": "a candidate was already evaluated; there is no second evaluation"
                }, "evaluated"
            ledger.evaluated = True
            return world.presentation.evaluate(arguments[world.decision_key]), None
        complaint = tool.values_wrong(arguments)
        if complaint is not None:
            return {"error": complaint}, "bad_arguments"
        return world.presentation.answer(tool.name, arguments), None
    except ToolError as error:
        return {"error": str(error)}, "no_answer"
    except Exception as error:
        # An error of the family's code must not end the model's episode; the log keeps it for us.
        return {"error": "the tool could not answer"}, f"fault: {type(error).__name__}: {error}"


def _submit(ledger: _Ledger, turn: int, arguments: dict[str, Any]) -> Called:
    world = ledger.world
    name = world.submit.name
    complaint = world.submit.names_wrong(arguments)
    if complaint is not None:
        return ledger.note(turn, name, arguments, {"error": complaint}, Status.UNBOUND, "bad_arguments")
    value = arguments[world.decision_key]
    if not isinstance(value, list if world.container == "array" else dict):
        result = {"error": f"{world.decision_key} must be an {world.container}; nothing was submitted"}
        return ledger.note(turn, name, arguments, result, Status.UNBOUND, "wrong_container")
    acknowledgement = world.presentation.acknowledge(_judge(world, value))
    return ledger.note(turn, name, arguments, acknowledgement, Status.BOUND)


def _judge(world: World, value: Any) -> Verdict:
    return world.presentation.check(value)


def _over_budget(ledger: _Ledger, name: str, cost: int) -> tuple[dict[str, Any], str]:
    world = ledger.world
    left = world.budget - ledger.spend
    affordable = sorted(tool for tool, price in world.costs.items() if price <= left)
    if not affordable:
        return {
            "error": "no information tool is affordable any more; a decision can still be submitted",
            "budget_exhausted": True,
            "max_cost": world.budget,
            "spent_cost": ledger.spend,
        }, "exhausted"
    return {
        "error": f"{name} costs {cost} and {left} is left; the call was not executed",
        "query_rejected": True,
        "budget_exhausted": False,
        "attempted_tool": name,
        "attempted_cost": cost,
        "max_cost": world.budget,
        "spent_cost": ledger.spend,
        "remaining_cost": left,
        "affordable_query_tools": affordable,
    }, "budget"


def _parse(arguments: Any) -> dict[str, Any] | None:
    """The arguments as a JSON object of our own, or None. A mapping is taken through JSON, so that
    a decision can hold nothing that JSON cannot, and nobody can change it afterwards."""
    try:
        if not isinstance(arguments, str):
            if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
                return None
            arguments = json.dumps(dict(arguments), allow_nan=False)
        value = json.loads(arguments, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> Any:
    """Numbers that JSON cannot hold, or that a float would lose."""
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refuse(text)


def _plain(value: Any) -> Any:
    """What a log keeps of a value that was no JSON object: text, cut where it is long. Where a value
    has no text (an integer of too many digits, lists nested too deep), its type."""
    if isinstance(value, str):
        return value[:2000]
    try:
        return repr(value)[:2000]
    except Exception:
        return f"<{type(value).__name__}>"
