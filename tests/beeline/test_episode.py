"""The rules of play, on a world small enough to hold in one's head."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.episode import (
    Ask,
    EpisodeEnding,
    EpisodeLimits,
    EpisodeResult,
    Status,
    ToolCall,
    Turn,
    episode,
    play,
)
from beeline.world import (
    Argument,
    Coordinate,
    Interface,
    Presentation,
    Tool,
    ToolError,
    Verdict,
    World,
    compact,
)
from beeline.world_agents import scripted

HUGE = 10**30


class Desk(Presentation):
    """Two facts, a and b; the decision is a list of names, and only ["b"] is best."""

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if tool == "boom":
            raise ZeroDivisionError("a bug of the family")
        if arguments["name"] not in ("a", "b"):
            raise ToolError("nothing has this name")
        return {"name": arguments["name"], "value": HUGE + len(arguments["name"])}

    def evaluate(self, value: Any) -> dict[str, Any]:
        verdict = self.check(value)
        return {"legal": verdict.feasible, "cost": verdict.objective}

    def check(self, value: Any) -> Verdict:
        return Verdict(True, HUGE) if value == ["b"] else Verdict(False, None)

    def acknowledge(self, verdict: Verdict) -> dict[str, Any]:
        return {"accepted": True, "legal": verdict.feasible, "cost": verdict.objective}


CHOICE = Argument("names", "array", "The names chosen.")
WORLD = World(
    id="worlds/toy/L1/instance-1/direct",
    family="toy",
    coordinate=Coordinate("L1", 1, Interface.DIRECT),
    system="Choose names.\n",
    user="Choose.\n",
    tools=(
        Tool("read", "Tell the value of a name.", (Argument("name", "string", "A name."),)),
        Tool("boom", "Break."),
        Tool("weigh", "Judge a choice.", (CHOICE,)),
    ),
    submit=Tool("choose", "Hand in a choice.", (CHOICE,)),
    costs={"read": 3, "boom": 1, "weigh": 5},
    budget=20,
    decision_key="names",
    container="array",
    sense="min",
    presentation=Desk(),
)
READ_A = ToolCall("read", '{"name": "a"}')
WEIGH = ToolCall("weigh", '{"names": ["b"]}')
CHOOSE = ToolCall("choose", '{"names": ["b"]}')


def run(*turns: list[ToolCall], world: World = WORLD, limits: EpisodeLimits | None = None) -> EpisodeResult:
    return play(world, scripted(iter([Turn(calls) for calls in turns])), limits)


def accounts(result: EpisodeResult) -> list[tuple[str, int, int, str | None]]:
    return [(c.status.value, c.charge, c.spend, c.reason) for c in result.log]


def test_reading_then_choosing() -> None:
    result = run([READ_A], [CHOOSE])
    assert (result.ending, result.decision, result.turns) == (EpisodeEnding.SUBMITTED, ["b"], 2)
    assert result.verdict == Verdict(True, HUGE)
    assert accounts(result) == [("executed", 3, 3, None), ("bound", 0, 3, None)]
    assert (result.calls, result.spend, result.refused) == (1, 3, 0)


def test_big_integers_reach_the_model_in_full() -> None:
    steps = episode(WORLD)
    assert next(steps) == Ask(1, WORLD, ())
    ask = steps.send(Turn([READ_A, READ_A]))
    assert ask.turn == 2
    assert ask.results == (f'{{"name":"a","value":{HUGE + 1}}}',) * 2


@pytest.mark.parametrize(
    ("call", "status", "charge", "reason"),
    [
        (ToolCall("read", '{"name": "c"}'), "failed", 3, "no_answer"),
        (ToolCall("read", {}), "failed", 3, "bad_arguments"),
        (ToolCall("read", {"name": 1}), "failed", 3, "bad_arguments"),
        (ToolCall("read", {"name": "a", "more": 1}), "failed", 3, "bad_arguments"),
        (ToolCall("boom", "{}"), "failed", 1, "fault: ZeroDivisionError: a bug of the family"),
        (ToolCall("weigh", {"name": ["b"]}), "failed", 5, "bad_arguments"),
        (ToolCall("weigh", {"names": 5}), "executed", 5, None),
        (ToolCall("fly", "{}"), "refused", 0, "unknown_tool"),
        (ToolCall("read", "{"), "refused", 0, "bad_json"),
        (ToolCall("read", "[1]"), "refused", 0, "bad_json"),
        (ToolCall("read", '{"name": NaN}'), "refused", 0, "bad_json"),
        (ToolCall("read", '{"name": 1e999}'), "refused", 0, "bad_json"),
        (ToolCall("read", "[" * 100_000), "refused", 0, "bad_json"),
        (ToolCall("read", None), "refused", 0, "bad_json"),
        (ToolCall("read", {1: 2}), "refused", 0, "bad_json"),
        (ToolCall("read", {"name": {1, 2}}), "refused", 0, "bad_json"),
        (ToolCall(None, "{}"), "refused", 0, "bad_name"),
        (ToolCall("", "{}"), "refused", 0, "bad_name"),
        (ToolCall("choose", "x"), "unbound", 0, "bad_json"),
        (ToolCall("choose", {}), "unbound", 0, "bad_arguments"),
        (ToolCall("choose", {"names": ["b"], "sure": True}), "unbound", 0, "bad_arguments"),
        (ToolCall("choose", {"names": {"b": "b"}}), "unbound", 0, "wrong_container"),
        (ToolCall("choose", {"names": None}), "unbound", 0, "wrong_container"),
    ],
)
def test_what_a_call_costs(call: ToolCall, status: str, charge: int, reason: str | None) -> None:
    result = run([call])
    assert accounts(result) == [(status, charge, charge, reason)]
    assert result.calls == (1 if charge else 0)
    assert bool(result.log[0].result.get("error")) is (status != "executed")
    assert result.attempted is (status == "unbound")
    assert len(result.faults) == (reason is not None and reason.startswith("fault"))
    json.loads(compact(result.log[0].as_dict()))


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


class NoText:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("value", [10**5000, {"names": 10**5000}, nested(100_000), NoText()], ids=range(4))
@pytest.mark.parametrize("tool", ["read", "weigh", "choose", "unknown"])
def test_a_value_without_a_text_is_refused_and_logged_by_its_type(tool: str, value: Any) -> None:
    result = play(WORLD, scripted(iter([Turn([ToolCall(tool, value), ToolCall(value)])])))
    first, second = result.log
    assert (first.reason, second.reason, result.spend) == ("bad_json", "bad_name", 0)
    assert first.arguments == second.tool == f"<{type(value).__name__}>"
    json.dumps([called.as_dict() for called in result.log])


def test_an_exact_repeat_is_charged_and_answered() -> None:
    result = run([READ_A], [READ_A])
    assert result.spend == 6
    assert result.log[0].result == result.log[1].result


def test_second_evaluation_is_charged_and_tells_nothing() -> None:
    result = run([WEIGH], [WEIGH])
    assert accounts(result) == [("executed", 5, 5, None), ("failed", 5, 10, "evaluated")]
    assert list(result.log[1].result) == ["error"]


def test_a_malformed_candidate_uses_the_evaluation_up() -> None:
    result = run([ToolCall("weigh", {"names": {"not": "a list"}})], [WEIGH])
    assert result.log[0].result == {"legal": False, "cost": None}
    assert result.log[1].reason == "evaluated"


def test_wrong_argument_names_leave_the_evaluation() -> None:
    result = run([ToolCall("weigh", {"legs": ["b"]})], [WEIGH])
    assert accounts(result) == [("failed", 5, 5, "bad_arguments"), ("executed", 5, 10, None)]
    assert result.log[1].result["cost"] == HUGE


def test_an_unaffordable_evaluation_leaves_the_opportunity() -> None:
    poor = replace(WORLD, budget=4)
    result = run([WEIGH], world=poor)
    assert accounts(result) == [("refused", 0, 0, "budget")]
    assert result.log[0].result == {
        "error": "weigh costs 5 and 4 is left; the call was not executed",
        "query_rejected": True,
        "budget_exhausted": False,
        "attempted_tool": "weigh",
        "attempted_cost": 5,
        "max_cost": 4,
        "spent_cost": 0,
        "remaining_cost": 4,
        "affordable_query_tools": ["boom", "read"],
    }


def test_a_refused_evaluation_is_not_counted_as_made() -> None:
    result = run([WEIGH], [WEIGH], world=replace(WORLD, budget=4))
    assert [c.reason for c in result.log] == ["budget", "budget"]
    assert result.calls == 0


def test_nothing_affordable() -> None:
    result = run([READ_A], [READ_A], world=replace(WORLD, budget=3))
    assert accounts(result)[1] == ("refused", 0, 3, "exhausted")
    assert result.log[1].result == {
        "error": "no information tool is affordable any more; a decision can still be submitted",
        "budget_exhausted": True,
        "max_cost": 3,
        "spent_cost": 3,
    }
    assert result.budget_capped


def test_a_decision_after_the_budget_is_no_budget_cap() -> None:
    result = run([READ_A], [READ_A], [CHOOSE], world=replace(WORLD, budget=3))
    assert result.bound
    assert not result.budget_capped


def test_no_budget_cap_while_something_is_affordable() -> None:
    assert not run([WEIGH], world=replace(WORLD, budget=4)).budget_capped
    assert not run([READ_A], [READ_A]).budget_capped
    assert not run().budget_capped


def test_the_budget_may_be_spent_to_the_last_unit() -> None:
    result = run([WEIGH, READ_A, READ_A, READ_A, READ_A, READ_A], [READ_A])
    assert result.spend == 20
    assert accounts(result)[-1] == ("refused", 0, 20, "exhausted")


def test_the_rest_of_a_turn_is_dropped_after_a_decision() -> None:
    result = run([CHOOSE, READ_A, ToolCall("choose", {"names": ["a"]})])
    assert result.decision == ["b"]
    assert len(result.log) == 1


def test_an_infeasible_decision_binds() -> None:
    result = run([ToolCall("choose", {"names": [1, None]})], [CHOOSE])
    assert result.verdict == Verdict(False, None)
    assert result.decision == [1, None]


def test_a_decision_that_cannot_be_bound_may_be_handed_in_again() -> None:
    result = run([ToolCall("choose", {"names": "b"}), CHOOSE])
    assert result.bound
    assert [c.status for c in result.log] == [Status.UNBOUND, Status.BOUND]


def test_a_bound_decision_cannot_be_changed_afterwards() -> None:
    names = ["b"]
    result = run([ToolCall("choose", {"names": names})])
    names.append("a")
    assert result.decision == ["b"]


def test_text_alone_ends_the_episode() -> None:
    result = play(WORLD, lambda ask: Turn((), "I am done"))
    assert (result.ending, result.turns, result.log) == (EpisodeEnding.NO_FINAL_DECISION, 1, ())


def test_turn_limit() -> None:
    result = play(WORLD, lambda ask: Turn([ToolCall("fly")]), EpisodeLimits(max_turns=7))
    assert (result.ending, result.turns, len(result.log)) == (EpisodeEnding.MAX_TURNS, 7, 7)


def test_a_decision_in_the_last_turn_counts() -> None:
    result = run([READ_A], [CHOOSE], limits=EpisodeLimits(max_turns=2))
    assert result.ending is EpisodeEnding.SUBMITTED


def test_default_limits() -> None:
    assert EpisodeLimits() == EpisodeLimits(max_turns=300, max_calls=255)


def test_the_call_after_the_cap_ends_the_episode() -> None:
    rich = replace(WORLD, budget=10**6)
    failing = ToolCall("read", {"name": "c"})
    unknown = ToolCall("fly")
    result = run(
        [READ_A, failing, WEIGH, unknown], [READ_A, CHOOSE], world=rich, limits=EpisodeLimits(max_calls=3)
    )
    assert result.ending is EpisodeEnding.INFO_CALL_CAP
    assert result.calls == 3
    assert accounts(result)[-1] == ("refused", 0, 11, "call_cap")
    assert result.decision is None


def test_refusals_do_not_count_towards_the_cap() -> None:
    result = run([ToolCall("fly")] * 9, [READ_A], [CHOOSE], limits=EpisodeLimits(max_calls=1))
    assert result.ending is EpisodeEnding.SUBMITTED


def test_255_calls_are_executed_and_the_256th_is_not() -> None:
    rich = replace(WORLD, budget=10**6)
    result = play(rich, lambda ask: Turn([READ_A]))
    assert (result.ending, result.calls, result.turns) == (EpisodeEnding.INFO_CALL_CAP, 255, 256)


def test_executed_calls_are_those_that_answered_facts() -> None:
    result = run([READ_A, ToolCall("read", {"name": "c"}), WEIGH, ToolCall("fly"), CHOOSE])
    assert [(e.tool, e.response["name"]) for e in result.executed(WORLD)] == [("read", "a")]


ARGUMENTS = ['{"name": "a"}', '{"names": []}', "{}", "{", "[]", '{"name": [1]}', '{"names": null}']


def expected_charge(call: ToolCall, spent: int, budget: int) -> int:
    """The charging rule once more, as plainly as it can be said."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return 0
    cost = WORLD.costs.get(call.name, 0)
    return cost if isinstance(arguments, dict) and spent + cost <= budget else 0


@given(
    st.lists(
        st.builds(
            ToolCall,
            st.sampled_from(["read", "boom", "weigh", "fly"]),
            st.sampled_from(
                ['{"name": "a"}', '{"names": []}', "{}", "{", "[]", '{"name": [1]}', '{"names": null}']
            ),
        ),
        max_size=30,
    ),
    st.integers(0, 60),
    st.integers(1, 5),
)
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_any_calls_keep_the_account(calls: list[ToolCall], budget: int, size: int) -> None:
    turns = [calls[i : i + size] for i in range(0, len(calls), size)]
    result = run(*turns, world=replace(WORLD, budget=budget))
    spent = evaluations = 0
    for call, called in zip(calls, result.log, strict=True):
        charge = expected_charge(call, spent, budget)
        spent += charge
        assert (called.charge, called.spend) == (charge, spent)
        assert (called.status in (Status.EXECUTED, Status.FAILED)) is (charge > 0)
        evaluations += called.tool == "weigh" and called.status is Status.EXECUTED
    assert result.spend == spent <= budget
    assert evaluations <= 1
