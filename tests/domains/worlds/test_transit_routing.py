"""What is particular to transit routing."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import pytest

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.facts import Call
from beeline.world import Interface, ToolError
from domains.worlds.transit_routing.generate import SIZES, STEP, Size, generate
from domains.worlds.transit_routing.instance import Transit
from domains.worlds.transit_routing.present import TransitDesk
from tests.domains.worlds import contract
from tests.domains.worlds.test_families import case_of, private_of

DOMAIN = case_of("transit_routing").domain


def instance() -> Transit:
    made = private_of("transit_routing").instance
    assert isinstance(made, Transit)
    return made


def test_a_row_of_transfer_costs_counts_only_with_the_survey() -> None:
    rows = [call for call in DOMAIN.catalogue(instance(), Interface.DIRECT) if "transfer" in call.tool]
    assert contract.told(DOMAIN, instance(), Interface.DIRECT, rows) == frozenset()
    with_survey = [*rows, Call("survey_route", {})]
    facts = contract.told(DOMAIN, instance(), Interface.DIRECT, with_survey)
    assert len(facts) == len(instance().lines) + 1


@pytest.mark.parametrize("tool", ["read_departures", "read_stage_memberships"])
def test_no_legs_leave_the_last_station(tool: str) -> None:
    desk = TransitDesk(instance(), Interface.DIRECT)
    with pytest.raises(ToolError, match="no legs leave"):
        desk.answer(tool, {"station_id": instance().stations[-1]})


def test_the_last_stages_fit_a_window_and_no_more() -> None:
    desk = TransitDesk(instance(), Interface.MEDIATED)
    start = instance().stations[-3]
    told = desk.answer("read_station_window", {"start_station_id": start, "span": 2})
    assert [stage["to_station"] for stage in told["stages"]] == list(instance().stations[-2:])
    with pytest.raises(ToolError, match="beyond"):
        desk.answer("read_station_window", {"start_station_id": start, "span": 3})


def test_mediated_memberships_need_a_join() -> None:
    """No row of the mediated answer has a leg and a line in it, and slots follow neither."""
    station = instance().stations[0]
    desk = TransitDesk(instance(), Interface.MEDIATED)
    told = desk.answer("read_stage_memberships", {"station_id": station})
    assert all(not isinstance(slot, str) for _, slot in told["leg_platform_rows"])
    legs = [slot for _, slot in told["leg_platform_rows"]]
    assert sorted(legs) == list(range(len(legs)))
    assert legs != sorted(legs)
    assert sorted(line for _, line in told["platform_line_rows"]) == sorted(
        instance().lines[leg.line] for leg in instance().legs[0]
    )


def test_evaluation_breaks_the_cost_down() -> None:
    private = private_of("transit_routing")
    told = TransitDesk(instance(), Interface.DIRECT).evaluate(private.solution.decision)
    assert told["raw_cost"] == told["travel_time"] + told["transfer_cost"]
    assert told["encoded_cost"] == told["raw_cost"] - instance().offset == private.optimum
    assert told["ticket_residue"] == instance().required


def test_a_leg_of_another_stage_is_illegal() -> None:
    best = list(private_of("transit_routing").solution.decision)
    residue = {leg.id: leg.residue for stage in instance().legs for leg in stage}
    swapped = [best[1], best[0], *best[2:]]
    assert sum(residue[leg] for leg in swapped) % instance().modulus == instance().required
    assert not DOMAIN.check(instance(), swapped).feasible


@pytest.mark.parametrize("level", list(SIZES))
def test_shape_of_generated_instances(level: str) -> None:
    """Times of a stage and costs into a line are ladders, and one line of a stage has two legs."""
    d, k, p, modulus = SIZES[level]
    made = DOMAIN.generated(level, 1, 1)
    assert (len(made.legs), len(made.lines), made.modulus) == (d, p, modulus)
    for stage in made.legs:
        assert sorted(leg.time // STEP for leg in stage) == list(range(k))
        assert len({leg.line for leg in stage}) == k - 1
        assert all(0 <= leg.residue < modulus for leg in stage)
    for target in range(p):
        column = [made.transfers[a][target] for a in range(p) if a != target]
        assert sorted(cost // STEP for cost in column) == list(range(p - 1))
        assert made.transfers[target][target] == 0


def test_costs_too_large_for_exact_sums_are_refused() -> None:
    small = generate(Size(3, 2, 3, 2), Draws("tests"))
    stage = tuple(leg._replace(time=2**61) for leg in small.legs[0])
    with pytest.raises(DomainError, match="64-bit"):
        replace(small, legs=(stage, *small.legs[1:]))


def test_sums_just_below_the_limit_are_exact() -> None:
    """Totals above 2^53, where a float would round, differ in their last digit only."""
    small = generate(Size(3, 3, 3, 1), Draws("tests", "large"))
    base = 2**58
    stages = tuple(
        tuple(leg._replace(time=base + 3 * i + j) for j, leg in enumerate(stage))
        for i, stage in enumerate(small.legs)
    )
    large = replace(small, legs=stages, transfers=tuple(tuple(0 for _ in row) for row in small.transfers))
    for solution in (DOMAIN.solve(large), DOMAIN.verify(large)):
        assert (solution.objective, solution.optima) == (1, 1)
        assert solution.decision == [stage[0].id for stage in stages]
    worst: Any = [stage[-1].id for stage in stages]
    assert DOMAIN.check(large, worst).objective == 7


def test_handles_tell_nothing_of_the_order() -> None:
    """Neither stations nor legs sort into the order of the problem."""
    stations = list(instance().stations)
    assert stations != sorted(stations)
    fastest = [min((leg.time, j) for j, leg in enumerate(stage))[1] for stage in instance().legs]
    assert len(set(fastest)) > len(fastest) // 3
    assert prod(len(stage) for stage in instance().legs) > 2**64
