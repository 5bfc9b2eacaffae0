"""What is particular to station siting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.errors import DataError, DomainError
from beeline.facts import Call
from beeline.world import INDEXES, LEVELS, Interface, ToolError, Verdict
from domains.worlds.station_siting.generate import SIZES, Size, generate
from domains.worlds.station_siting.instance import SAFE, Demand, Siting, Zone, band, check, sites_of
from domains.worlds.station_siting.present import SitingDesk, layout_of
from domains.worlds.station_siting.release import of_release
from domains.worlds.station_siting.solve import random_layout, reference, solve
from domains.worlds.station_siting.verify import verify
from tests.domains.worlds import contract
from tests.domains.worlds.specification import Specified
from tests.domains.worlds.test_families import case_of, private_of

CASE = case_of("station_siting")
DOMAIN = CASE.domain
both = pytest.mark.parametrize("interface", list(Interface))


def instance() -> Siting:
    made = private_of("station_siting").instance
    assert isinstance(made, Siting)
    return made


def made_of(
    costs: list[tuple[int, int]], most_extended: int, demands: list[tuple[int, int, int]], bandwidth: int = 1
) -> Siting:
    """Zones z0, z1, ... with sites such as z0-1; demands are (left option, right option, reward)."""
    pairs = band(len(costs), bandwidth)
    zones = tuple(Zone(f"z{i}", (f"z{i}-0", f"z{i}-1"), pair) for i, pair in enumerate(costs))
    rows = zip(pairs, demands, strict=True)
    return Siting(
        bandwidth,
        most_extended,
        zones,
        tuple(Demand(f"d{i}{j}", i, j, a, b, reward) for (i, j), (a, b, reward) in rows),
    )


# The problem.


def test_budgets_plans_and_catalogues_are_those_of_the_specification() -> None:
    Specified(
        budgets={
            "L1": (577, 647, 731),
            "L2": (691, 731, 779),
            "L3": (654, 689, 731),
            "L4": (675, 710, 752),
        },
        calls=(172, 234),
        costs=(558, 774),
        full=(915, 1293),
    ).check(DOMAIN)


@pytest.mark.parametrize("level", LEVELS)
def test_instances_follow_the_recipe(level: str) -> None:
    size = SIZES[level]
    for attempt in range(1, 6):
        siting = DOMAIN.generated(level, 1, attempt)
        assert (len(siting.zones), siting.bandwidth) == (size.zones, size.bandwidth)
        basic = sorted(zone.costs[0] for zone in siting.zones)
        lowest = 2 * size.bandwidth * 149 + 22
        assert basic == [lowest + size.spread * k // (size.zones - 1) for k in range(size.zones)]
        assert {zone.costs[1] for zone in siting.zones} <= set(range(1, 21))
        assert {demand.reward for demand in siting.demands} <= set(range(100, 150))
        wanted = dict((d.left, d.left_option) for d in siting.demands)
        wanted |= dict((d.right, d.right_option) for d in siting.demands)
        for demand in siting.demands:  # no zone is asked for both its sites
            assert wanted[demand.left] == demand.left_option
            assert wanted[demand.right] == demand.right_option
        block = [i for i in range(size.zones) if wanted[i] == 0]
        assert len(block) == block[-1] - block[0] + 1 == siting.least_basic
        assert siting.saturated


def test_blocks_start_everywhere() -> None:
    size = Size(6, 2, 4, 600)
    starts = Counter()
    for number in range(300):
        siting = generate(size, Draws("tests", "block", number))
        options = {d.left: d.left_option for d in siting.demands}
        starts[min(i for i in range(6) if options.get(i, 0) == 0)] += 1
    assert sorted(starts) == [0, 1, 2, 3, 4]
    assert min(starts.values()) > 30


def test_states_are_counted_as_the_specification_counts_them() -> None:
    """Layer by layer, by a formula that knows neither costs nor rewards."""
    totals = {}
    for level, size in SIZES.items():
        h = size.zones - size.most_extended
        totals[level] = sum(
            comb(held, k) * len(range(k, min(h, k + i - held) + 1))
            for i in range(size.zones + 1)
            for held in [min(i, size.bandwidth)]
            for k in range(held + 1)
        )
    assert totals == {"L1": 2_967, "L2": 36_859, "L3": 162_565, "L4": 846_417}
    transitions = {"L1": 5_774, "L2": 68_174}
    for level in transitions:
        for index in INDEXES:
            work = private_of("station_siting", level, index).solution.work
            assert work is not None
            assert (work.states, work.transitions) == (totals[level], transitions[level])
            assert work.reconstructions == SIZES[level].zones


def test_work_of_a_whole_instance_is_that_of_the_plain_algorithm() -> None:
    private = private_of("station_siting")
    assert private.solution.work == CASE.plain_work(private.instance)


def test_the_economics_only_layout_scores_0_and_looks_at_costs_alone() -> None:
    for siting in contract.small_instances(CASE, 100):
        assert check(siting, reference(siting)) == Verdict(True, 0)
        free = replace(siting, demands=tuple(d._replace(reward=1) for d in siting.demands))
        assert reference(free) == reference(siting)
        values = {
            tuple(options): -sum(z.costs[o] for z, o in zip(siting.zones, options, strict=True))
            for options in product((0, 1), repeat=len(siting.zones))
            if sum(options) <= siting.most_extended
        }
        assert values[siting.economics] == max(values.values())


def test_ties_of_the_economics_only_layout() -> None:
    equal = [(5, 5), (9, 1), (9, 1), (9, 1), (9, 2)]
    demands = [(1, 1, 1)] * 4
    assert made_of(equal, 5, demands).economics == (0, 1, 1, 1, 1)
    assert made_of(equal, 4, demands).economics == (0, 1, 1, 1, 1)
    assert made_of(equal, 3, demands).economics == (0, 1, 1, 1, 0)
    assert made_of(equal, 2, demands).economics == (0, 0, 1, 1, 0)
    assert made_of(equal, 0, demands).economics == (0, 0, 0, 0, 0)


def test_a_demand_pays_once_and_only_for_both_its_sites() -> None:
    siting = made_of([(3, 10), (3, 10), (3, 10)], 2, [(1, 1, 20), (0, 1, 7), (1, 0, 50)], bandwidth=2)
    assert [(d.left, d.right) for d in siting.demands] == [(0, 1), (0, 2), (1, 2)]
    assert siting.baseline == -9
    values = {}
    for options in product((0, 1), repeat=3):
        values[options] = check(siting, sites_of(siting, options)).objective
    assert values == {
        (0, 0, 0): 0,
        (0, 0, 1): 0,  # 7 more, 7 dearer
        (0, 1, 0): 43,
        (0, 1, 1): -7,
        (1, 0, 0): -7,
        (1, 0, 1): -14,
        (1, 1, 0): 56,
        (1, 1, 1): None,
    }


def test_random_layouts_use_the_limit_and_differ() -> None:
    siting = instance()
    drawn = {tuple(random_layout(siting, Draws("tests", k))) for k in range(20)}
    assert len(drawn) == 20
    for layout in drawn:
        assert sum(siting.place[site][1] for site in layout) == siting.most_extended


# Solvers at their limits.


def test_small_instances_are_of_all_kinds() -> None:
    """Saturated or not, with several optima or one: the comparison with enumeration meets all four."""
    kinds = Counter()
    for siting in contract.small_instances(CASE, 400):
        kinds[siting.saturated, solve(siting).optima] += 1
    assert all(kinds[kind] >= 10 for kind in product((True, False), (1, 2))), kinds


def test_saturated_optima_use_the_whole_limit() -> None:
    saturated = 0
    for siting in contract.small_instances(CASE, 200):
        if siting.saturated:
            saturated += 1
            best, _, _ = contract.enumerate_optima(CASE, siting)
            for decision in CASE.decisions(siting):
                if check(siting, decision).objective == best:
                    assert sum(siting.place[site][1] for site in decision) == siting.most_extended
    assert saturated > 50


def test_a_site_that_saves_no_more_than_it_may_lose_is_not_saturated() -> None:
    """At equality a layout with fewer extended sites can be optimal too, and it must be counted."""
    siting = made_of([(11, 1), (12, 1)], 1, [(0, 0, 10)])
    assert not siting.saturated  # zone 0 saves 10, and its demand pays 10
    assert not made_of([(11, 1), (11, 1)], 1, [(0, 0, 10)]).saturated
    assert made_of([(12, 1), (12, 1)], 1, [(0, 0, 10)]).saturated
    for made in (siting, made_of([(11, 1), (11, 1)], 1, [(0, 0, 10)])):
        best, number, _ = contract.enumerate_optima(CASE, made)
        for solution in (solve(made), verify(made)):
            assert (solution.objective, solution.optima) == (best, min(number, 2))


def values_of_all_layouts(siting: Siting) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Objectives, and numbers of extended zones, of all 2^n layouts; zone i is bit i."""
    value, extended = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for i, zone in enumerate(siting.zones):
        layouts = np.arange(len(value))
        gains = [np.full(len(value), -cost) for cost in zone.costs]
        for demand in siting.demands:
            if demand.right == i:
                met = (layouts >> demand.left & 1) == demand.left_option
                gains[demand.right_option] += demand.reward * met
        value = np.concatenate([value + gains[0], value + gains[1]])
        extended = np.concatenate([extended, extended + 1])
    return value - siting.baseline, extended


@pytest.mark.parametrize("level", ["L3", "L4"])
def test_no_layout_of_a_whole_instance_is_better(level: str) -> None:
    """All 2^21 layouts of a full-size instance, looked at one by one."""
    siting = DOMAIN.generated(level, 2, 1)
    values, extended = values_of_all_layouts(siting)
    legal = values[extended <= siting.most_extended]
    best = int(legal.max())
    for solution in (solve(siting), verify(siting)):
        assert (solution.objective, solution.optima) == (best, int(np.count_nonzero(legal == best)))
    assert int((values > best).sum()) > 0, "without the limit there would be something better"


@pytest.mark.parametrize("number", range(12))
def test_solvers_agree_beyond_enumeration(number: int) -> None:
    """Up to 16 zones, any band, costs as large as rewards: seldom saturated."""
    draws = Draws("tests", "wide", number)
    n = 10 + draws.below(7)
    siting = generate(Size(n, 1 + draws.below(n - 1), draws.below(n + 1), 900), draws)
    if number % 3:
        zones = [z._replace(costs=(1 + draws.below(300), 1 + draws.below(300))) for z in siting.zones]
        demands = [
            d._replace(left_option=draws.below(2), right_option=draws.below(2)) for d in siting.demands
        ]
        siting = replace(siting, zones=tuple(zones), demands=tuple(demands))
    one, other = solve(siting), verify(siting)
    assert (one.objective, one.optima) == (other.objective, other.optima)
    for solution in (one, other):
        assert check(siting, solution.decision) == Verdict(True, one.objective)


def test_numbers_near_the_bound_are_added_exactly() -> None:
    """Costs near 2^54, which a float would round: with one limit for both, the optimum stays."""
    siting = generate(Size(6, 2, 4, 600), Draws("tests", "bound"))
    best = solve(siting)
    shift = 2**54 + 1
    dear = replace(
        siting, zones=tuple(z._replace(costs=(z.costs[0] + shift, z.costs[1] + shift)) for z in siting.zones)
    )
    for solution in (solve(dear), verify(dear)):
        assert (solution.objective, solution.decision) == (best.objective, best.decision)
    assert dear.baseline == siting.baseline - 6 * shift
    rich = replace(siting, demands=tuple(d._replace(reward=d.reward + 2**56) for d in siting.demands))
    one, other = solve(rich), verify(rich)
    assert one.agrees(other)
    assert check(rich, one.decision).objective == one.objective
    assert one.objective is not None
    assert one.objective > 2**53
    too_dear = tuple(z._replace(costs=(SAFE // 6, 1)) for z in siting.zones)
    with pytest.raises(DomainError, match="64-bit"):
        replace(siting, zones=too_dear)


LINE = made_of([(3, 1)] * 4, 2, [(1, 1, 5)] * 5, bandwidth=2)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"bandwidth": 0}, "no bandwidth of 0"),
        ({"bandwidth": 4}, "no bandwidth of 4"),
        ({"most_extended": -1}, "no limit of -1"),
        ({"most_extended": 5}, "no limit of 5"),
        ({"demands": LINE.demands[1:]}, "one for each pair"),
        ({"demands": LINE.demands[::-1]}, "one for each pair"),
        ({"demands": (LINE.demands[0]._replace(id="z0"), *LINE.demands[1:])}, "different ids"),
        ({"zones": (LINE.zones[0]._replace(sites=("a", "a")), *LINE.zones[1:])}, "different ids"),
        ({"demands": (LINE.demands[0]._replace(left_option=2), *LINE.demands[1:])}, "option 0 or option 1"),
        ({"demands": (LINE.demands[0]._replace(reward=0), *LINE.demands[1:])}, "1 or more"),
        ({"zones": (LINE.zones[0]._replace(costs=(True, 1)), *LINE.zones[1:])}, "1 or more"),
    ],
)
def test_malformed_instances_are_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(DomainError, match=why):
        replace(LINE, **change)


def test_a_band_too_wide_for_the_memory_is_refused() -> None:
    with pytest.raises(DomainError, match="too wide"):
        made_of([(3, 1)] * 30, 2, [(1, 1, 5)] * len(band(30, 20)), bandwidth=20)


# The checker and the evaluator.


def test_what_is_illegal_and_why() -> None:
    siting = instance()
    desk = SitingDesk(siting, Interface.DIRECT)
    best = list(private_of("station_siting").solution.decision)
    assert desk.evaluate(best) == {"legal": True, "objective": check(siting, best).objective, "reason": None}
    all_extended = [zone.sites[1] for zone in siting.zones]
    other = siting.zones[0].sites[1 - siting.place[best[0]][1]]
    for value, why in [
        (None, "a list of site ids"),
        ({site: 1 for site in best}, "a list of site ids"),
        ([*best[:-1], 7], "a list of site ids"),
        ([*best[:-1], best[0]], "named twice"),
        ([*best[:-1], "STE-00000000000000"], "not that of a site"),
        ([*best[:-1], siting.zones[0].id], "not that of a site"),
        (best[:-1], "exactly one site"),
        ([*best, other], "exactly one site"),
        ([*best[:-1], other], "exactly one site"),
        ([], "exactly one site"),
        (all_extended, "more than 36 sites"),
    ]:
        assert check(siting, value) == Verdict(False, None)
        told = desk.evaluate(value)
        assert (told["legal"], told["objective"]) == (False, None)
        assert why in told["reason"]


# The tools.


@both
def test_demands_tell_no_zone_and_zones_no_reward(interface: Interface) -> None:
    siting = instance()
    desk = SitingDesk(siting, interface)
    for call in DOMAIN.catalogue(siting, interface):
        told = str(desk.answer(call.tool, call.arguments))
        assert ("ZON-" in told) is (call.tool != "read_demand")
        assert ("reward" in told) is ("DMD-" in told) is (call.tool == "read_demand")


def test_mediated_demands_need_a_join_and_connectors_are_no_sites() -> None:
    siting = instance()
    desk = SitingDesk(siting, Interface.MEDIATED)
    best = list(private_of("station_siting").solution.decision)
    connectors = set()
    for demand in siting.demands:
        told = desk.answer("read_demand", {"demand": demand.id})
        connector = told["demand"]["connector_id"]
        assert list(told["demand"]) == ["connector_id", "demand_id", "reward"]
        assert [row["connector_id"] for row in told["connector_site_rows"]] == [connector] * 2
        assert not check(siting, [*best[:-1], connector]).feasible
        with pytest.raises(ToolError, match="no demand"):
            desk.answer("read_demand", {"demand": connector})
        connectors.add(connector)
    assert len(connectors) == len(siting.demands)


def test_rows_of_another_connector_are_not_joined() -> None:
    siting = instance()
    call = Call("read_demand", {"demand": siting.demands[0].id})
    (executed,) = contract.executed(DOMAIN, siting, Interface.MEDIATED, [call])
    rows = executed.response["connector_site_rows"]
    rows.append({"connector_id": "CON-0", "site_id": siting.zones[9].sites[0]})
    (fact,) = DOMAIN.normalise(DOMAIN.public(siting), [executed])
    assert fact in DOMAIN.facts(siting)
    rows.pop(0)
    assert not DOMAIN.normalise(DOMAIN.public(siting), [executed])


def test_rows_are_shuffled_and_each_interface_shuffles_anew() -> None:
    siting = instance()
    direct, mediated = (layout_of(siting, interface) for interface in Interface)
    in_order = [site for zone in siting.zones for site in zone.sites]
    assert sorted(direct.sites) == sorted(mediated.sites) == sorted(in_order)
    assert direct.sites != mediated.sites
    assert direct.required != mediated.required
    for interface, layout in zip(Interface, (direct, mediated), strict=True):
        desk = SitingDesk(siting, interface)
        first = Counter(
            desk.answer("read_zone", {"zone": zone.id})["rows"][0]["option"] for zone in siting.zones
        )
        assert min(first[0], first[1]) > 8, "the order of a zone's rows must not tell the option"
        lefts = Counter(siting.place[layout.required[d.id][0]][0] == d.left for d in siting.demands)
        assert min(lefts[True], lefts[False]) > 50


@both
def test_windows_end_with_the_corridor(interface: Interface) -> None:
    siting = instance()
    desk = SitingDesk(siting, interface)
    ids = [zone.id for zone in siting.zones]
    told = desk.answer("read_zone_window", {"start": ids[-2], "length": 2})["site_rows"]
    assert Counter(row["zone_id"] for row in told) == {ids[-2]: 2, ids[-1]: 2}
    for start, length in [(ids[-2], 3), (ids[-1], 2)]:
        with pytest.raises(ToolError, match="beyond"):
            desk.answer("read_zone_window", {"start": start, "length": length})
    with pytest.raises(ToolError, match="no zone"):
        desk.answer("read_zone_window", {"start": siting.demands[0].id, "length": 2})


# Payloads of the public release: ours written in its form, so that no shared data is needed.


def payload_of(siting: Siting, interface: Interface) -> dict[str, Any]:
    layout = layout_of(siting, interface)
    zone_of = {site: zone for zone in siting.zones for site in zone.sites}
    rows = [
        {
            "operating_cost": zone_of[site].costs[siting.place[site][1]],
            "option": siting.place[site][1],
            "site_id": site,
            "zone_id": zone_of[site].id,
        }
        for site in layout.sites
    ]
    catalog: dict[str, Any] = {"encoding": interface.value, "demands": []}
    if interface is Interface.MEDIATED:
        catalog["connector_site_rows"] = []
    for demand in siting.demands:
        row: dict[str, Any] = {"demand_id": demand.id, "reward": demand.reward}
        sites = layout.required[demand.id]
        if interface is Interface.DIRECT:
            row["required_sites"] = list(sites)
        else:
            row["connector_id"] = layout.connectors[demand.id]
            catalog["connector_site_rows"] += [
                {"connector_id": row["connector_id"], "site_id": site} for site in sites
            ]
        catalog["demands"].append(row)
    public = DOMAIN.public(siting)
    return {
        "objective_baseline_raw_value": siting.baseline,
        "public": public,
        "source_documents": {
            "zone_order": public["zone_handles"],
            "demand_order": public["demand_handles"],
            "site_rows": rows,
            "coverage_catalog": catalog,
        },
    }


@both
def test_a_payload_is_read_back(interface: Interface) -> None:
    siting = instance()
    payload = payload_of(siting, interface)
    payload["source_documents"]["coverage_catalog"]["demands"].reverse()
    read, desk = of_release(payload, interface)
    assert read == siting
    ours = SitingDesk(siting, interface)
    for call in DOMAIN.catalogue(siting, interface):
        assert desk.answer(call.tool, call.arguments) == ours.answer(call.tool, call.arguments)
    del payload["objective_baseline_raw_value"]
    assert of_release(payload, interface)[0] == siting


def catalog(payload: dict[str, Any]) -> Any:
    return payload["source_documents"]["coverage_catalog"]


Change = Callable[[dict[str, Any]], object]
MALFORMED: list[tuple[Interface, Change, str]] = [
    (Interface.DIRECT, lambda p: p.clear(), "missing or of a wrong type"),
    (Interface.DIRECT, lambda p: p.update(source_documents=3), "missing or of a wrong type"),
    (Interface.DIRECT, lambda p: p.update(objective_baseline_raw_value=3), "economics-only"),
    (Interface.DIRECT, lambda p: p["public"].update(facility_limit=3), "facility_limit"),
    (Interface.DIRECT, lambda p: p["public"].update(interaction_bandwidth=3), "each pair"),
    (Interface.DIRECT, lambda p: p["source_documents"]["site_rows"].pop(), "two for each zone"),
    (Interface.DIRECT, lambda p: p["source_documents"]["site_rows"][0].update(option=2), "two for each zone"),
    (Interface.DIRECT, lambda p: p["source_documents"].update(demand_order=["X"]), "permutation"),
    (Interface.DIRECT, lambda p: catalog(p).update(encoding="mediated"), "encoding"),
    (Interface.DIRECT, lambda p: catalog(p)["demands"].append(catalog(p)["demands"][0]), "permutation"),
    (Interface.DIRECT, lambda p: catalog(p)["demands"][0]["required_sites"].pop(), "two known sites"),
    (Interface.DIRECT, lambda p: catalog(p)["demands"][0].update(required_sites=["X", "Y"]), "two known"),
    (Interface.DIRECT, lambda p: catalog(p)["demands"][0].update(reward=0), "1 or more"),
    (Interface.MEDIATED, lambda p: catalog(p)["connector_site_rows"].pop(), "two known sites"),
    (
        Interface.MEDIATED,
        lambda p: catalog(p)["connector_site_rows"][0].update(connector_id="X"),
        "no demand has the connector",
    ),
    (
        Interface.MEDIATED,
        lambda p: catalog(p)["demands"][0].update(connector_id=catalog(p)["demands"][1]["connector_id"]),
        "two demands have one connector",
    ),
]


@pytest.mark.parametrize(("interface", "change", "why"), MALFORMED)
def test_malformed_payloads_are_refused(interface: Interface, change: Change, why: str) -> None:
    payload = payload_of(instance(), interface)
    change(payload)
    with pytest.raises(DataError, match=why):
        of_release(payload, interface)
