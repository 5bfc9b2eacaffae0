"""The public AlgoWorlds instances: read, presented, solved to their certified optima."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from beeline.episode import EpisodeEnding, play
from beeline.errors import DataError
from beeline.facts import Executed
from beeline.world import Interface, Verdict, World, compact
from beeline.world_agents import PlanAgent
from beeline.world_domain import WorldDomain
from domains.worlds.families import UNCERTIFIED, family_class, family_names
from domains.worlds.official import Released, find_released, read_released, released_world
from tests.shared import shared_folder

FILES = [
    ("basket_assembly", "arm_0", 0),
    ("basket_assembly", "arm_0", 1),
    ("basket_assembly", "arm_0", 2),
    ("basket_assembly", "arm_1", 0),
    ("machine_layout", "arm_0", 0),
    ("machine_layout", "arm_1", 0),
    ("sequential_matching", "arm_0", 0),
    ("fleet_dispatch", "arm_0", 0),
    ("fleet_dispatch", "arm_1", 0),
    ("migration_portfolio", "arm_0", 0),
]
files = pytest.mark.parametrize(("family", "arm", "index"), FILES)


def root() -> Path:
    return shared_folder("data", "algoworlds-official")


def domain_of(family: str) -> WorldDomain[Any]:
    if family not in family_names():
        pytest.skip(f"the family {family} is not part of this release")
    return family_class(family)("reference", UNCERTIFIED)


def paths_of(family: str, arm: str, index: int) -> tuple[Path, Path]:
    for name, instance, certificate in find_released(root()):
        if name == family and instance.parent.name == arm and instance.name == f"r1_w{index}.json":
            return instance, certificate
    raise AssertionError(f"no file of {family} {arm} {index}")


@cache
def released(family: str, arm: str, index: int) -> tuple[Released, Any, World]:
    domain = domain_of(family)
    found = read_released(domain, *paths_of(family, arm, index))
    return found, *released_world(domain, found)


def test_all_official_files_are_tested() -> None:
    found = [(name, path.parent.name, int(path.stem[-1])) for name, path, _ in find_released(root())]
    assert sorted(found) == sorted(FILES)


@files
def test_solved_to_the_certified_optimum(family: str, arm: str, index: int) -> None:
    domain = domain_of(family)
    found, instance, _ = released(family, arm, index)
    for solution in (domain.solve(instance), domain.verify(instance)):
        assert (solution.objective, solution.optima) == (found.optimum, 1)
        assert domain.check(instance, solution.decision) == Verdict(True, found.optimum)


@files
def test_tools_present_it_and_the_oracle_solves_it(family: str, arm: str, index: int) -> None:
    domain = domain_of(family)
    found, instance, world = released(family, arm, index)
    assert world.id == found.id
    assert world.id.startswith("algoworlds/")
    public = domain.public(instance)
    for plan in domain.plans(instance, found.coordinate.interface):
        agent = PlanAgent(domain, public, plan.calls, lambda told: domain.solve(told).decision)
        result = play(world, agent)
        assert result.ending is EpisodeEnding.SUBMITTED
        assert not result.faults
        assert result.verdict == Verdict(True, found.optimum)


@files
def test_budget_rule(family: str, arm: str, index: int) -> None:
    """The release's budget is the dearer plan plus one evaluation, and its costs are ours."""
    domain = domain_of(family)
    found, instance, world = released(family, arm, index)
    assert dict(found.costs) == dict(domain.costs[index])
    assert found.budget == domain.budget(instance, found.coordinate.index)
    assert world.cost_of(domain.catalogue(instance, found.coordinate.interface)) > found.budget


@pytest.mark.parametrize("family", ["basket_assembly", "machine_layout", "fleet_dispatch"])
def test_the_pair_holds_one_instance(family: str) -> None:
    domain = domain_of(family)
    (one, first, direct), (two, second, mediated) = (released(family, arm, 0) for arm in ("arm_0", "arm_1"))
    assert one.latent == two.latent
    assert one.optimum == two.optimum
    assert domain.facts(first) == domain.facts(second)
    for instance, world in ((first, direct), (second, mediated)):
        interface = world.coordinate.interface
        calls = domain.plans(instance, interface)[1].calls
        told = [
            Executed(c.tool, c.arguments, json.loads(compact(world.presentation.answer(c.tool, c.arguments))))
            for c in calls
        ]
        assert domain.normalise(domain.public(instance), told) == domain.facts(first)
    assert [direct.coordinate.interface, mediated.coordinate.interface] == list(Interface)


@pytest.mark.parametrize("family", sorted({family for family, _, _ in FILES}))
def test_a_changed_file_is_refused(family: str, tmp_path: Path) -> None:
    domain = domain_of(family)
    instance, certificate = paths_of(family, "arm_0", 0)
    data, sealed = json.loads(instance.read_bytes()), json.loads(certificate.read_bytes())

    def refused(data: Any, sealed: Any, why: str, end: str = "") -> None:
        one, two = tmp_path / "instance.json", tmp_path / "certificate.json"
        one.write_text(data if isinstance(data, str) else json.dumps(data))
        two.write_text(json.dumps(sealed))
        with pytest.raises(DataError, match=why):
            read_released(domain, one, two)

    text = instance.read_text()
    refused(text + " ", sealed, "instance_sha256")
    refused(text, {**sealed, "note": 1}, "keys are not those of a certificate")
    refused(text, {**sealed, "certified_optimum": True}, "no integer")
    refused(text, {**sealed, "objective_sense": "other"}, "objective_sense")
    refused({**data, "note": 1}, sealed, "keys are not those of an instance")
    refused({**data, "rung_index": 5}, sealed, "out of range")
    refused({**data, "case_id": "case_99"}, sealed, "case_id")
    payload = data["payload"]
    refused({**data, "payload": {**payload, "rows": [{"case_id": 3}]}}, sealed, "private key case_id")
    refused({**data, "payload": {**payload, "construction_x": 3}}, sealed, "private key construction_x")
    refused({**data, "payload": {**payload, "cost_vector": {}}}, sealed, "each information tool")
    refused({**data, "payload": {**payload, "cost_budget": 1.5}}, sealed, "cost_budget")
    refused("[]", sealed, "no JSON object")
    refused("{", sealed, "is not JSON")
