"""Names of worlds, schemas of tools, and what an episode was worth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.digest import digest_of
from beeline.draws import Draws
from beeline.episode import EpisodeLimits, ToolCall, Turn, play
from beeline.errors import DataError, DomainError, SettingError
from beeline.facts import coverage
from beeline.world import (
    BANDS,
    LEVELS,
    TRIALS,
    Argument,
    Coordinate,
    Interface,
    Tool,
    Verdict,
    compact,
    coordinates,
    parse_world_id,
)
from beeline.world_agents import run_world_offline, scripted
from beeline.world_domain import rotation
from beeline.world_score import Outcome, gap, grounding, outcome_of, regret
from beeline.world_solution import Private, Solution, Work
from beeline.world_words import flow
from domains.worlds.families import UNCERTIFIED
from domains.worlds.handles import below_any, make_handles, scattered
from domains.worlds.transit_routing import TransitRouting
from domains.worlds.windows import all_windows, covering_windows
from tests.beeline.test_episode import CHOOSE, HUGE, READ_A, WORLD, run

# Names.


def test_trials_are_in_canonical_order() -> None:
    found = list(coordinates())
    assert [c.trial for c in found] == list(range(1, 25))
    assert TRIALS == 24
    keys = [(LEVELS.index(c.level), c.index, c.interface is Interface.MEDIATED) for c in found]
    assert keys == sorted(keys)
    assert len(set(keys)) == 24
    assert (found[0].interface, found[1].interface) == (Interface.DIRECT, Interface.MEDIATED)


def test_world_ids_parse_back() -> None:
    ids = [c.world_id("fleet_dispatch") for c in coordinates()]
    assert ids[0] == "worlds/fleet_dispatch/L1/instance-1/direct"
    assert ids[23] == "worlds/fleet_dispatch/L4/instance-3/mediated"
    assert [parse_world_id(text) for text in ids] == [("fleet_dispatch", c) for c in coordinates()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "worlds/x/L1/instance-1",
        "worlds/x/L5/instance-1/direct",
        "worlds/x/L1/instance-0/direct",
        "worlds/x/L1/instance-4/direct",
        "worlds/x/L1/instance-01/direct",
        "worlds/X/L1/instance-1/direct",
        "worlds/1x/L1/instance-1/direct",
        "worlds/x/L1/instance-1/indirect",
        "worlds/x/L1/instance-1/direct\n",
        "algoworlds/x/L1/instance-1/direct",
    ],
)
def test_no_world_id(text: str) -> None:
    with pytest.raises(SettingError, match="no world id"):
        parse_world_id(text)


@pytest.mark.parametrize("trial", [0, 25, -1, True])
def test_no_such_trial(trial: int) -> None:
    with pytest.raises(SettingError, match="trials 1 to 24"):
        Coordinate.of_trial(trial)


def test_bands_do_not_overlap() -> None:
    bands = [BANDS[level] for level in LEVELS]
    assert all(low <= high for low, high in bands)
    assert all(one[1] < two[0] for one, two in pairwise(bands))
    assert BANDS["L3"][1] == 2**24


# Tools.


def test_schema_of_a_tool() -> None:
    tool = Tool(
        "look", "Look around.", (Argument("start", "integer", "From.", 0), Argument("who", "string", "W."))
    )
    assert tool.schema()["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "start": {"type": "integer", "description": "From.", "minimum": 0},
            "who": {"type": "string", "description": "W."},
        },
        "required": ["start", "who"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("value", [True, 2.0, "2", None, [2], 1, 4, -3])
def test_values_that_are_no_span(value: Any) -> None:
    assert Argument("span", "integer", "S.", 2, 3).complaint(value)


@pytest.mark.parametrize("value", [2, 3])
def test_spans(value: int) -> None:
    assert Argument("span", "integer", "S.", 2, 3).complaint(value) is None


def test_results_are_compact_ascii_with_whole_integers() -> None:
    assert compact({"b": HUGE, "a": "é"}) == f'{{"b":{HUGE},"a":"\\u00e9"}}'


def test_a_verdict_is_whole() -> None:
    for wrong in ((True, None), (False, 3), (True, 3.0), (True, True)):
        with pytest.raises(AssertionError):
            Verdict(*wrong)


def test_rotation_names_every_tool() -> None:
    tools = WORLD.tools
    assert rotation(tools, (1, 2, 3), (4, 5, 6)) == (
        {"read": 1, "boom": 2, "weigh": 3},
        {"read": 4, "boom": 5, "weigh": 6},
    )
    with pytest.raises(ValueError, match="zip"):
        rotation(tools, (1, 2))


# Worth.


def private(optimum: int, reference: int) -> Private[Any]:
    solution = Solution(["b"], optimum, 1, Work(1, 1, 1, 1, 1))
    return Private("L1", 1, 1, None, solution, ["a"], reference, "0" * 64)


def test_regret_of_integers_that_no_float_holds() -> None:
    known = private(HUGE, HUGE + 3)
    assert regret(WORLD, HUGE, known) == 0
    assert regret(WORLD, HUGE + 1, known) == Fraction(1, 3)
    assert regret(WORLD, HUGE + 6, known) == 2


def test_gap_of_a_maximum() -> None:
    world = replace(WORLD, sense="max")
    assert gap(world, HUGE - 5, HUGE) == 5
    assert regret(world, HUGE - 5, private(HUGE, HUGE - 10)) == Fraction(1, 2)


def test_outcomes() -> None:
    assert outcome_of(run([CHOOSE]), HUGE) is Outcome.OPTIMAL
    assert outcome_of(run([CHOOSE]), HUGE - 1) is Outcome.SUBOPTIMAL
    assert outcome_of(run([ToolCall("choose", {"names": []})]), HUGE) is Outcome.INFEASIBLE
    assert outcome_of(run([ToolCall("choose", {"names": "b"})]), HUGE) is Outcome.VIOLATION
    assert outcome_of(run([ToolCall("choose", "{")]), HUGE) is Outcome.VIOLATION
    assert outcome_of(run([READ_A]), HUGE) is Outcome.NO_DECISION
    # A failed attempt that is followed by a binding one is no violation.
    assert outcome_of(run([ToolCall("choose", "{"), CHOOSE]), HUGE) is Outcome.OPTIMAL


def test_coverage_is_of_the_best_sufficient_set() -> None:
    sets = (frozenset({("a",), ("b",), ("c",)}), frozenset({("a",), ("d",)}))
    assert coverage(sets, frozenset()) == 0
    assert coverage(sets, frozenset({("a",)})) == Fraction(1, 2)
    assert coverage(sets, frozenset({("a",), ("b",)})) == Fraction(2, 3)
    assert coverage(sets, frozenset({("a",), ("d",), ("x",)})) == 1


def test_grounding_counts_distinct_handles_seen_before() -> None:
    seen = run([READ_A], [ToolCall("choose", {"names": ["a", "a", "invented"]})])
    assert grounding(WORLD, seen) == (1, 2)
    assert grounding(replace(WORLD, user="Choose invented.\n"), seen) == (2, 2)
    # A piece of what the prompt names, or nothing at all, is no handle.
    for piece in ("invent", "vented", ""):
        guessed = run([ToolCall("choose", {"names": [piece]})])
        assert grounding(replace(WORLD, user="Choose invented.\n"), guessed) == (0, 1)
    assert grounding(WORLD, run([READ_A])) == (0, 0)


# A family.

FAMILY = TransitRouting("reference", UNCERTIFIED)


@pytest.mark.parametrize("trial", [1, 4])
def test_offline_record(trial: int) -> None:
    made = run_world_offline(FAMILY, trial)
    assert made["world"] == Coordinate.of_trial(trial).world_id("transit_routing")
    assert list(made["arms"]) == ["oracle", "heuristic", "random"]
    assert made["arms"]["oracle"]["exact"] is True
    fields = {"outcome", "feasible", "exact", "objective", "optimum", "utility", "regret", "sufficient"}
    assert fields | {"coverage", "calls", "spend", "budget"} <= set(made["arms"]["random"])
    # From a cache, through JSON, without solving again.
    import json

    again = FAMILY.read_record(json.loads(json.dumps(made["instance"])))
    assert run_world_offline(FAMILY, trial, again) == made


def test_unfinished_episodes_score_nothing_but_what_was_learnt() -> None:
    from beeline.world_score import arm_fields

    known = FAMILY.private("L1", 1)
    world = FAMILY.world(known.instance, Coordinate.of_trial(1))
    calls = FAMILY.plans(known.instance, Interface.DIRECT)[1].calls
    turns = iter([Turn([ToolCall(c.tool, dict(c.arguments)) for c in calls])])
    fields = arm_fields(FAMILY, known, world, play(world, scripted(turns), EpisodeLimits()))
    assert (fields["outcome"], fields["utility"], fields["regret"]) == ("no_decision", 0.0, None)
    assert (fields["sufficient"], fields["coverage"]) == (True, 1.0)
    assert fields["objective"] is None
    assert fields["spend"] == world.cost_of(calls)


def test_settings_of_a_family() -> None:
    with pytest.raises(SettingError, match="no heuristic"):
        TransitRouting("fastest", UNCERTIFIED)
    with pytest.raises(SettingError, match="needs the parameter"):
        TransitRouting("reference", {"edition": 1})
    with pytest.raises(SettingError, match="edition must be at least 1"):
        TransitRouting("reference", {"edition": 0, "manifest": ""})
    with pytest.raises(SettingError, match="SHA-256"):
        TransitRouting("reference", {"edition": 1, "manifest": "abc"})


def test_an_edition_is_another_set_of_instances() -> None:
    other = TransitRouting("reference", {"edition": 2, "manifest": ""})
    assert other.generated("L1", 1, 1) != FAMILY.generated("L1", 1, 1)


def test_a_manifest_of_another_edition() -> None:
    digest = digest_of(__import__("json").loads(_manifest_text()))
    family = TransitRouting("reference", {"edition": 2, "manifest": digest})
    with pytest.raises(SettingError, match=r"certifies edition 1, not 2: set .*transit_routing\.manifest=''"):
        family.private("L1", 1)


def test_a_manifest_that_the_version_does_not_name() -> None:
    family = TransitRouting("reference", {"edition": 1, "manifest": "0" * 64})
    with pytest.raises(DataError, match="not the manifest that this version names"):
        family.private("L1", 1)


def test_certified_instances_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from beeline.digest import digest_of

    stored = __import__("json").loads(_manifest_text())
    family = TransitRouting("reference", {"edition": 1, "manifest": digest_of(stored)})
    assert family.private("L1", 2) == FAMILY.private("L1", 2)
    # Another instance that would be accepted, and one that would not.
    right = family.generated
    monkeypatch.setattr(family, "generated", lambda level, index, attempt: right(level, 1, attempt))
    with pytest.raises(DomainError, match="not the certified one"):
        family.private("L1", 3)
    monkeypatch.setattr(family, "generated", lambda level, index, attempt: right("L2", index, attempt))
    with pytest.raises(DomainError, match="not the certified one"):
        family.private("L1", 1)


def _manifest_text() -> str:
    from domains.worlds.certify import manifest_path

    return manifest_path("transit_routing").read_text("utf-8")


# Helpers of the families.


def test_flow_joins_lines_but_keeps_headings_and_formulas() -> None:
    text = "one\ntwo\n\n# Head\nthree\nfour\n\n    x = 1\n    y = 2\n"
    assert flow(text) == "one two\n\n# Head\nthree four\n\n    x = 1\n    y = 2"


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 14, 24, 44])
def test_windows(n: int) -> None:
    windows = covering_windows(n)
    assert len(windows) == -(-n // 3)
    assert [i for start, length in windows for i in range(start, start + length)] == list(range(n))
    assert {length for _, length in windows} <= {2, 3}
    assert len(set(all_windows(n))) == len(all_windows(n)) == max(1, 2 * n - 3)
    assert set(windows) <= set(all_windows(n))


def test_no_window_covers_one_thing() -> None:
    with pytest.raises(ValueError, match="one thing"):
        covering_windows(1)
    assert covering_windows(0) == []


def test_handles_are_opaque_and_different() -> None:
    made = make_handles(Draws("a", 1), "station", "STN", 50)
    assert len(set(made)) == 50
    assert all(len(handle) == 20 and handle.startswith("STN-") for handle in made)
    assert made != sorted(made)
    assert made != make_handles(Draws("a", 2), "station", "STN", 50)
    assert not set(h[4:] for h in made) & {h[4:] for h in make_handles(Draws("a", 1), "line", "LIN", 50)}
    with pytest.raises(DomainError, match="equal"):
        make_handles(Draws("a", 1), "station", "STN", 50, digits=1)


def test_scattered_depends_on_handles_and_label_alone() -> None:
    handles = [f"H{i}" for i in range(20)]
    one = scattered(handles, "slot")
    assert one == scattered(reversed(handles), "slot")
    assert sorted(one) == sorted(handles)
    assert one != scattered(handles, "slot", "mediated")
    # Leaving one out moves no other.
    assert scattered(handles[:-1], "slot") == [h for h in one if h != handles[-1]]


@given(st.integers(1, 2**130))
def test_below_any(n: int) -> None:
    draws = Draws("tests", str(n))
    found = [below_any(draws, n) for _ in range(5)]
    assert all(type(value) is int and 0 <= value < n for value in found)


def test_below_any_reaches_every_value_and_high_bits() -> None:
    draws = Draws("tests")
    assert {below_any(draws, 5) for _ in range(200)} == set(range(5))
    large = [below_any(draws, 2**100) for _ in range(50)]
    assert max(large) > 2**99
    assert len({value % 2**32 for value in large}) == 50
