"""What is particular to series portfolio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest

from beeline.digest import canonical
from beeline.draws import Draws
from beeline.episode import Status, ToolCall, Turn, play
from beeline.errors import DataError, DomainError
from beeline.facts import Call, Insufficient
from beeline.world import INDEXES, LEVELS, Coordinate, Interface, ToolError, Verdict
from beeline.world_agents import scripted
from domains.worlds.series_portfolio.generate import LARGEST, SIZES, Size, generate
from domains.worlds.series_portfolio.instance import MOST_SPAN, SAFE, Lot, Portfolio, Series, Title, check
from domains.worlds.series_portfolio.present import SeriesDesk, layout_of, pages
from domains.worlds.series_portfolio.release import of_release
from domains.worlds.series_portfolio.solve import reference, solve
from domains.worlds.series_portfolio.verify import verify
from tests.domains.worlds import contract
from tests.domains.worlds.specification import Specified
from tests.domains.worlds.test_families import case_of, private_of, world_of

DOMAIN = case_of("series_portfolio").domain
both = pytest.mark.parametrize("interface", list(Interface))


def instance() -> Portfolio:
    made = private_of("series_portfolio").instance
    assert isinstance(made, Portfolio)
    return made


def titles_of(*values: tuple[int, int]) -> tuple[Title, ...]:
    return tuple(
        Title(f"T{i}", Lot(f"A{i}", zero), Lot(f"B{i}", one)) for i, (zero, one) in enumerate(values)
    )


# The problem.


def test_adjustments_are_read_as_a_binary_number_in_ascending_positions() -> None:
    """Each digit in turn; the settled value leaves out the smaller lot of each title."""
    titles = titles_of((5, 5), (7, 4), (1, 3), (2, 2))
    table = (0, 10, 200, 3000, 40000, 500000, 6000000, 70000000)
    made = Portfolio(titles, (Series("S", (0, 1, 3), table), Series("P", (1, 2), (0, -1, -20, -300))))
    for digits in product((0, 1), repeat=4):
        lots = [f"{'AB'[digit]}{i}" for i, digit in enumerate(digits)]
        x0, x1, x2, x3 = digits
        expected = (3 if x1 == 0 else 0) + (2 if x2 == 1 else 0)
        expected += table[4 * x0 + 2 * x1 + x3] + (0, -1, -20, -300)[2 * x1 + x2]
        assert check(made, lots) == check(made, lots[::-1]) == Verdict(True, expected)
    assert solve(made).objective == verify(made).objective == 70000000 + 0 - 20


def test_budgets_plans_and_catalogues_are_those_of_the_specification() -> None:
    Specified(
        budgets={
            "L1": (1228, 1240, 1284),
            "L2": (1416, 1432, 1496),
            "L3": (1660, 1684, 1772),
            "L4": (1796, 1828, 1924),
        },
        calls=(24, 141),
        costs=(196, 924),
        full=(1491, 5658),
        interface=Interface.MEDIATED,
    ).check(DOMAIN)


@pytest.mark.parametrize(
    ("level", "work"), [("L1", 54_587), ("L2", 973_647), ("L3", 6_698_087), ("L4", 34_402_415)]
)
def test_work_is_that_of_the_specification(level: str, work: int) -> None:
    """By the counts of the solver and by the closed form: both depend on the size alone."""
    counted = solve(DOMAIN.generated(level, 1, 1)).work
    assert counted is not None
    n, span = SIZES[level]
    states = sum(2 ** min(i, span - 1) for i in range(n))
    closures = sum(2 * 2 ** min(i, span - 1) * min(i, span - 1) for i in range(n))
    assert (counted.states, counted.transitions) == (states + 2, 2 * states)
    assert (counted.checks, counted.updates, counted.reconstructions) == (3 * closures, closures, n)
    assert counted.total == 3 * states + 4 * closures + n + 2 == work


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", INDEXES)
def test_shape_of_generated_instances(level: str, index: int) -> None:
    """One series for each pair of titles within the span, in order; tables odd, level in sum."""
    made = DOMAIN.generated(level, index, 1)
    n, span = SIZES[level]
    assert (made.size, made.span) == (n, span)
    ends = [(row.members[0], row.members[-1]) for row in made.series]
    assert ends == [(i, j) for i in range(n) for j in range(i + 1, min(i + span, n))]
    for row in made.series:
        assert len(row.members) == (2 if row.span == 2 else 3)
        assert sum(row.adjustments) == 0
        assert all(a % 2 and abs(a) <= LARGEST[len(row.members)] for a in row.adjustments)
    dearer = [title.one.value > title.zero.value for title in made.titles]
    assert n // 4 < sum(dearer) < 3 * n // 4
    for title in made.titles:
        low, high = sorted((title.zero.value, title.one.value))
        assert low == 100
        assert 111 <= high <= 136
        assert title.zero.id.startswith("LOT-A-")
        assert title.one.id.startswith("LOT-B-")


def test_handles_tell_nothing_of_the_order() -> None:
    for names in ([title.id for title in instance().titles], [row.id for row in instance().series]):
        ascents = sum(a < b for a, b in pairwise(names))
        assert len(names) // 3 < ascents < 2 * len(names) // 3


def test_the_reference_takes_the_dearer_lots_and_the_first_of_equal_ones() -> None:
    row = Series("S", (0, 2), (9, 0, 0, 0))
    assert reference(Portfolio(titles_of((1, 2), (4, 4), (9, 3)), (row,))) == ["B0", "A1", "A2"]
    made = instance()
    values = {lot.id: lot.value for title in made.titles for lot in (title.zero, title.one)}
    assert all(values[lot] > 100 for lot in reference(made))


# Solvers at their limits.


@pytest.mark.parametrize("number", range(20))
def test_solvers_agree_beyond_enumeration(number: int) -> None:
    """And no change of one or two lots improves on what they find."""
    draws = Draws("tests", "series", "beyond", number)
    made = generate(Size(12 + draws.below(30), 2 + draws.below(9)), draws)
    solution = solve(made)
    assert solution.agrees(verify(made))
    assert check(made, solution.decision) == Verdict(True, solution.objective)
    assert solution.objective is not None
    other = [
        {title.zero.id: title.one.id, title.one.id: title.zero.id}[lot]
        for title, lot in zip(made.titles, solution.decision, strict=True)
    ]
    for i, j in product(range(made.size), repeat=2):
        changed = [other[k] if k in (i, j) else lot for k, lot in enumerate(solution.decision)]
        value = check(made, changed).objective
        assert value is not None
        assert value < solution.objective


def test_without_series_each_title_is_decided_alone() -> None:
    made = Portfolio(titles_of((1, 9), (5, 2), (3, 3)), ())
    for solution in (solve(made), verify(made)):
        assert (solution.objective, solution.optima) == (11, 2)
        assert check(made, solution.decision) == Verdict(True, 11)
    single = Portfolio(titles_of((1, 9)), ())
    for solution in (solve(single), verify(single)):
        assert (solution.decision, solution.objective, solution.optima) == (["B0"], 8, 1)


def test_a_series_over_the_whole_row_leaves_nothing_to_cut_off() -> None:
    made = Portfolio(titles_of(*[(1, 2)] * 9), (Series("S", (0, 4, 8), (0, 0, 0, 0, 0, 50, 0, 0)),))
    for solution in (solve(made), verify(made)):
        assert (solution.objective, solution.optima) == (58, 1)
        assert solution.decision == ["B0", "B1", "B2", "B3", "A4", "B5", "B6", "B7", "B8"]


def test_sums_near_the_bound_are_exact() -> None:
    """Totals above 2^53, where a float would round: every entry is made greater by the same, so the
    optimum grows by that and the decision stays."""
    made = generate(Size(9, 4), Draws("tests", "series", "bound"))
    shift = 2**55 + 1
    large = replace(
        made,
        series=tuple(
            row._replace(adjustments=tuple(a + shift for a in row.adjustments)) for row in made.series
        ),
    )
    optimum = solve(made).objective
    assert optimum is not None
    for solution in (solve(large), verify(large)):
        assert solution.objective == optimum + shift * len(made.series)
        assert solution.decision == solve(made).decision
    row = made.series[0]
    for entry in (SAFE, -SAFE):
        far = row._replace(adjustments=(entry, *row.adjustments[1:]))
        with pytest.raises(DomainError, match="64-bit"):
            replace(made, series=(far, *made.series[1:]))


PAIR = (1, 0, 0, 0)
MALFORMED: list[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], str]] = [
    ([], [], "at least one"),
    ([("T", ("A", 1), ("B", 1)), ("T", ("C", 1), ("D", 1))], [], "titles must be different"),
    ([("T", ("A", 1), ("B", 1)), ("U", ("B", 1), ("C", 1))], [], "lots must be different"),
    ([("T", ("A", 1), ("A", 1))], [], "lots must be different"),
    ([("T", ("B", 1), ("A", 1))], [], "sorted by id"),
    ([("T", ("A", 0), ("B", 1))], [], "1 or more"),
    ([("T", ("A", 1.5), ("B", 1))], [], "1 or more"),
    ([("T", ("A", 1), ("B", True))], [], "1 or more"),
    ([], [("S", (0, 1), PAIR), ("S", (1, 2), PAIR)], "series must be different"),
    ([], [("S", (0,), (1, 0))], "two or three ascending"),
    ([], [("S", (), (1,))], "two or three ascending"),
    ([], [("S", (0, 1, 2, 3), (1,) + (0,) * 15)], "two or three ascending"),
    ([], [("S", (1, 0), PAIR)], "two or three ascending"),
    ([], [("S", (1, 1), PAIR)], "two or three ascending"),
    ([], [("S", (-1, 0), PAIR)], "two or three ascending"),
    ([], [("S", (0, 30), PAIR)], "two or three ascending"),
    ([], [("S", (0, 1), (1, 0, 0))], "needs 4 integer"),
    ([], [("S", (0, 1, 2), PAIR)], "needs 8 integer"),
    ([], [("S", (0, 1), (1.0, 0, 0, 0))], "needs 4 integer"),
    ([], [("S", (0, 1), (3, 3, 3, 3))], "all equal"),
    ([], [("S", (0, MOST_SPAN), PAIR)], "may span"),
]


@pytest.mark.parametrize(("titles", "series", "why"), MALFORMED)
def test_malformed_instances_are_refused(titles: list[Any], series: list[Any], why: str) -> None:
    if series:
        made = titles_of(*[(1, 1)] * 30)
    else:
        made = tuple(Title(name, Lot(*zero), Lot(*one)) for name, zero, one in titles)
    with pytest.raises(DomainError, match=why):
        Portfolio(made, tuple(Series(*row) for row in series))


def test_any_other_list_is_illegal() -> None:
    made = instance()
    best = list(private_of("series_portfolio").solution.decision)
    first = made.titles[0]
    other = first.one.id if best[0] == first.zero.id else first.zero.id
    assert check(made, [other, *best[1:]]).feasible
    assert not check(made, [*best[1:], best[1]]).feasible  # a lot twice, a title without one
    assert not check(made, [best[0], other, *best[2:]]).feasible  # both lots of a title
    assert not check(made, [*best, other]).feasible
    assert not check(made, [first.id, *best[1:]]).feasible
    assert not check(made, [made.series[0].id, *best[1:]]).feasible
    assert not check(made, dict.fromkeys(best, 1)).feasible
    assert not check(made, [[best[0]], *best[1:]]).feasible


# The tools.


@pytest.mark.parametrize(
    ("count", "last"), [(1, (0, 1)), (24, (0, 24)), (25, (24, 1)), (205, (192, 13)), (1074, (1056, 18))]
)
def test_pages_part_the_series(count: int, last: tuple[int, int]) -> None:
    made = pages(count)
    assert made[-1] == last
    assert [place for start, length in made for place in range(start, start + length)] == list(range(count))
    assert all(length == 24 for _, length in made[:-1])


@both
def test_only_the_fixed_pages_are_answered_and_others_are_charged(interface: Interface) -> None:
    world = world_of("series_portfolio", interface)
    good = dict(pages(len(instance().series)))
    requests = [(start, length) for start in range(0, 218) for length in (1, 2, 12, 13, 14, 23, 24)]
    for start, length in requests:
        call = ("read_series_page", {"start": start, "length": length})
        if good.get(start) == length:
            rows = world.presentation.answer(*call)["rows"]
            assert [row[0] for row in rows] == [row.id for row in instance().series[start : start + length]]
        else:
            with pytest.raises(ToolError, match="no page"):
                world.presentation.answer(*call)
    for arguments in (
        {"start": 12, "length": 24},
        {"start": 0, "length": 25},
        {"start": False, "length": 24},
    ):
        result = play(world, scripted(iter([Turn([ToolCall("read_series_page", arguments)])])))
        assert (result.log[0].status, result.log[0].charge) == (Status.FAILED, 12)


@both
def test_two_evaluations_never_fit(interface: Interface) -> None:
    world = world_of("series_portfolio", interface)
    best = private_of("series_portfolio").solution.decision
    calls = [ToolCall("evaluate_portfolio", {"lots": lots}) for lots in (["malformed"], best)]
    result = play(world, scripted(iter([Turn(calls)])))
    assert [called.status for called in result.log] == [Status.EXECUTED, Status.REFUSED]
    assert result.log[0].result == {"complete": False, "legal": False}
    assert result.spend == 1000
    for level in LEVELS:
        dear = DOMAIN.world(DOMAIN.generated(level, 3, 1), Coordinate(level, 3, interface))
        assert dear.budget < 2 * dear.costs["evaluate_portfolio"]


def test_windows_end_with_the_titles() -> None:
    desk = SeriesDesk(instance(), Interface.DIRECT)
    last = [title.id for title in instance().titles[-2:]]
    told = desk.answer("read_catalog_window", {"start": 42, "length": 2})
    assert [row["title_id"] for row in told["titles"]] == last
    assert told["titles"] == [desk.answer("read_title", {"title": name}) for name in last]
    for start, length in [(42, 3), (43, 2), (10**400, 2)]:
        with pytest.raises(ToolError, match="beyond"):
            desk.answer("read_catalog_window", {"start": start, "length": length})


def test_lots_are_told_in_either_order() -> None:
    """So the order in which a tool lists them says neither which is choice 0 nor which is dearer."""
    for interface in Interface:
        told = layout_of(instance(), interface).lots
        turned = sum(told[title.id][0] == title.one.id for title in instance().titles)
        assert 10 < turned < 34
    direct, mediated = (layout_of(instance(), interface).lots for interface in Interface)
    assert direct != mediated


@both
def test_the_index_names_members_and_counts_for_nothing(interface: Interface) -> None:
    made = instance()
    desk = SeriesDesk(made, interface)
    calls = [Call("read_title_index", {"title": title.id}) for title in made.titles]
    assert contract.told(DOMAIN, made, interface, calls) == frozenset()
    memberships = 0
    for place, call in enumerate(calls):
        told = desk.answer(call.tool, call.arguments)
        assert sorted(told) == ["lot_ids", "series_ids", "title_id"]
        assert told["lot_ids"] == [made.titles[place].zero.id, made.titles[place].one.id]
        assert told["series_ids"] == sorted(told["series_ids"])
        memberships += len(told["series_ids"])
        assert all(place in row.members for row in made.series if row.id in told["series_ids"])
    assert memberships == sum(len(row.members) for row in made.series)


def test_licenses_are_extra_and_no_handles() -> None:
    """The mediated answer without its license is the direct one under other names."""
    made = instance()
    direct, mediated = SeriesDesk(made, Interface.DIRECT), SeriesDesk(made, Interface.MEDIATED)
    licenses = set()
    for row in made.series:
        one = direct.answer("read_series", {"series": row.id})
        two = mediated.answer("read_series", {"series": row.id})
        license_id = two.pop("license_id")
        licenses.add(license_id)
        two["member_positions"] = two.pop("license_member_positions")
        assert {**one, "encoding": ""} == {**two, "encoding": ""}
        for argument, tool in (("series", "read_series"), ("title", "read_title")):
            with pytest.raises(ToolError, match="has this id"):
                mediated.answer(tool, {argument: license_id})
    assert len(licenses) == len(made.series)
    assert not any(name in canonical(DOMAIN.public(made)) for name in licenses)


@pytest.mark.parametrize(
    ("kind", "why"),
    [("lot", "the lots of title"), ("value", "the lots of title"), ("series", "is not known")],
)
def test_each_fact_is_needed(kind: str, why: str) -> None:
    public, facts = DOMAIN.public(instance()), DOMAIN.facts(instance())
    for fact in sorted((fact for fact in facts if fact[0] == kind), key=str)[:20]:
        with pytest.raises(Insufficient, match=why):
            DOMAIN.rebuild(public, facts - {fact})
    assert DOMAIN.rebuild(public, facts) == instance()


@both
def test_the_prompt_states_order_pages_and_span(interface: Interface) -> None:
    made = instance()
    system = world_of("series_portfolio", interface).system
    assert ", ".join(title.id for title in made.titles) in system
    assert ", ".join(row.id for row in made.series) in system
    assert "13 from place 192" in system
    assert "more than 6 consecutive positions" in system
    assert not any(title.zero.id in system or title.one.id in system for title in made.titles)


# Payloads of the public release: ours written in its form, so that no shared data is needed.


def payload_of(made: Portfolio, interface: Interface) -> dict[str, Any]:
    layout = layout_of(made, interface)
    draws = Draws("tests", "payload", interface)
    values = {lot.id: lot.value for title in made.titles for lot in (title.zero, title.one)}
    titles = [
        {
            "title_id": title.id,
            "lots": [{"base_value": values[lot], "lot_id": lot} for lot in layout.lots[title.id]],
        }
        for title in made.titles
    ]
    series: list[dict[str, Any]] = []
    licenses = []
    for row in made.series:
        pairs = [[made.titles[place].zero.id, made.titles[place].one.id] for place in row.members]
        draws.shuffle(pairs)
        entry: dict[str, Any] = {"series_id": row.id, "adjustments": list(row.adjustments)}
        if interface is Interface.DIRECT:
            entry["lot_pairs"] = pairs
        else:
            entry["license_id"] = layout.licenses[row.id]
            licenses += [
                {"license_id": entry["license_id"], "zero_lot_id": zero, "one_lot_id": one}
                for zero, one in pairs
            ]
        series.append(entry)
    for rows in (titles, series, licenses):
        draws.shuffle(rows)
    source: dict[str, Any] = {"encoding": "direct", "series": series}
    if interface is Interface.MEDIATED:
        source = {"encoding": "licensed", "series": series, "license_rows": licenses}
    return {
        "group_count": made.size,
        "series_count": len(made.series),
        "max_series_span": made.span,
        "title_handles_text": ", ".join(title.id for title in made.titles),
        "series_handles_text": ", ".join(row.id for row in made.series),
        "source_documents": {
            "declared_max_series_span": made.span,
            "title_order": [title.id for title in made.titles],
            "series_order": [row.id for row in made.series],
            "titles": titles,
            "series_source": source,
        },
    }


@both
def test_a_payload_is_read_back(interface: Interface) -> None:
    made = instance()
    read, desk = of_release(payload_of(made, interface), interface)
    assert read == made
    ours = SeriesDesk(made, interface)
    for call in [*DOMAIN.catalogue(made, interface), *case_of("series_portfolio").directory(made)]:
        assert desk.answer(call.tool, call.arguments) == ours.answer(call.tool, call.arguments)


def documents(payload: dict[str, Any]) -> Any:
    return payload["source_documents"]


def source(payload: dict[str, Any]) -> Any:
    return documents(payload)["series_source"]


DIRECT, MEDIATED = Interface
Change = Callable[[dict[str, Any]], object]
BAD_PAYLOADS: list[tuple[Interface, Change, str]] = [
    (DIRECT, lambda p: p.clear(), "missing or of a wrong type"),
    (DIRECT, lambda p: p.update(group_count=3), "group_count"),
    (DIRECT, lambda p: p.update(max_series_span=7), "max_series_span"),
    (DIRECT, lambda p: documents(p).update(declared_max_series_span=5), "declared_max_series_span"),
    (DIRECT, lambda p: documents(p).update(titles=3), "missing or of a wrong type"),
    (DIRECT, lambda p: documents(p)["title_order"].pop(), "title_order"),
    (DIRECT, lambda p: documents(p)["titles"].append(documents(p)["titles"][0]), "title_order"),
    (DIRECT, lambda p: documents(p)["titles"][0]["lots"].pop(), "missing or of a wrong type"),
    (DIRECT, lambda p: documents(p)["titles"][0]["lots"][0].update(base_value=0), "1 or more"),
    (DIRECT, lambda p: documents(p)["series_order"].pop(), "series_order"),
    (DIRECT, lambda p: source(p)["series"].append(source(p)["series"][0]), "series_order"),
    (DIRECT, lambda p: source(p).update(encoding="licensed"), "encoding"),
    (DIRECT, lambda p: source(p)["series"][0]["lot_pairs"][0].reverse(), "a pair of lots"),
    (DIRECT, lambda p: source(p)["series"][0]["lot_pairs"][0].pop(), "missing or of a wrong type"),
    (DIRECT, lambda p: source(p)["series"][0]["lot_pairs"].pop(), "ascending|adjustments"),
    (DIRECT, lambda p: source(p)["series"][0].update(adjustments=[1, 2]), "integer adjustments"),
    (MEDIATED, lambda p: source(p)["license_rows"].pop(), "ascending|adjustments"),
    (MEDIATED, lambda p: source(p)["license_rows"][0].update(license_id="LIC-0"), "no series has"),
    (MEDIATED, lambda p: source(p)["license_rows"].append(source(p)["license_rows"][0]), "ascending"),
    (
        MEDIATED,
        lambda p: source(p)["series"][0].update(license_id=source(p)["series"][1]["license_id"]),
        "one license",
    ),
]


@pytest.mark.parametrize(("interface", "change", "why"), BAD_PAYLOADS)
def test_malformed_payloads_are_refused(interface: Interface, change: Change, why: str) -> None:
    payload = payload_of(instance(), interface)
    change(payload)
    with pytest.raises(DataError, match=why):
        of_release(payload, interface)
