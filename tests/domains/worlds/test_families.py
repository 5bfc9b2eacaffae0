"""Every family of worlds keeps its contract."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from beeline.draws import Draws
from beeline.world import Coordinate, Interface
from beeline.world_certify import world_digest
from beeline.world_solution import Private
from domains.worlds.families import family_names
from tests.domains.worlds import contract, playthroughs
from tests.domains.worlds.contract import Case
from tests.shared import ROOT

SMALL = 400

families = pytest.mark.parametrize("name", family_names())
both = pytest.mark.parametrize("interface", list(Interface))


@cache
def case_of(name: str) -> Case:
    case = importlib.import_module(f"tests.domains.worlds.{name}_case").CASE
    assert isinstance(case, Case)
    return case


@cache
def private_of(name: str, level: str = "L1", index: int = 1) -> Private[Any]:
    """Drawn, solved and verified."""
    return case_of(name).domain.private(level, index)


def world_of(name: str, interface: Interface, level: str = "L1", index: int = 1) -> Any:
    domain = case_of(name).domain
    return domain.world(private_of(name, level, index).instance, Coordinate(level, index, interface))


@families
def test_solvers_agree_with_enumeration(name: str) -> None:
    contract.check_solvers(case_of(name), SMALL)


@families
def test_work_is_that_of_the_plain_algorithm(name: str) -> None:
    contract.check_work(case_of(name), 60)


@families
def test_reference_and_random_decisions_are_feasible(name: str) -> None:
    contract.check_offline_decisions(case_of(name), 100)


@families
def test_instances_survive_json(name: str) -> None:
    contract.check_json(case_of(name), 60)


@families
def test_plans_tell_the_facts_in_both_interfaces(name: str) -> None:
    case = case_of(name)
    for instance in contract.small_instances(case, SMALL):
        contract.check_facts(case, instance)
    contract.check_facts(case, private_of(name).instance)


@families
def test_more_calls_never_take_a_fact_away(name: str) -> None:
    case = case_of(name)
    for number, instance in enumerate(contract.small_instances(case, 60)):
        contract.check_monotone(case, instance, Draws("tests", number))
    contract.check_monotone(case, private_of(name).instance, Draws("tests"))


@families
def test_every_call_of_a_plan_is_needed(name: str) -> None:
    case = case_of(name)
    for instance in contract.small_instances(case, 60):
        contract.check_dropping(case, instance)
    contract.check_dropping(case, private_of(name).instance)


@families
@pytest.mark.parametrize("index", [1, 2, 3])
def test_budget_catalogue_and_sizes(name: str, index: int) -> None:
    """At every level: they depend on the size alone, so no instance need be solved."""
    case = case_of(name)
    for level in contract.levels_of(case):
        contract.check_budget(case, level, index, case.domain.generated(level, index, 1))


@families
@both
def test_texts_and_schemas(name: str, interface: Interface) -> None:
    contract.check_words(case_of(name), world_of(name, interface))


@families
def test_channels_matter_and_do_not_leak(name: str) -> None:
    contract.check_channels(case_of(name), private_of(name).instance, tries=20)


@families
@pytest.mark.parametrize("index", [1, 2, 3])
def test_instances_are_certified(name: str, index: int) -> None:
    for level in ("L1", "L2"):
        contract.check_certified(case_of(name), private_of(name, level, index))


@families
@both
@pytest.mark.parametrize("index", [1, 2])
def test_arms(name: str, index: int, interface: Interface) -> None:
    """Index 2 follows the fine-grained plan, index 1 the wide one."""
    private = private_of(name, "L1", index)
    contract.check_arms(case_of(name), private, world_of(name, interface, "L1", index))


@families
@both
def test_bad_agents(name: str, interface: Interface) -> None:
    contract.check_bad_agents(case_of(name), private_of(name), world_of(name, interface))


@families
@both
def test_evaluator(name: str, interface: Interface) -> None:
    contract.check_evaluator(case_of(name), private_of(name).instance, world_of(name, interface))


@families
def test_order_of_the_submitted_list(name: str) -> None:
    contract.check_order(case_of(name), private_of(name))


@families
@both
def test_fuzzed_arguments(name: str, interface: Interface) -> None:
    instance = private_of(name).instance
    contract.check_fuzzed_arguments(case_of(name), world_of(name, interface), instance, 5_000)


PRINT = """
import sys
from beeline.digest import digest_of
from tests.domains.worlds.test_families import digests
print(digest_of(digests(sys.argv[1])))
"""


def digests(name: str) -> list[Any]:
    private = private_of(name)
    domain = case_of(name).domain
    return [
        domain.record(private),
        *(world_digest(domain, private.instance, world_of(name, interface)) for interface in Interface),
    ]


@families
def test_another_process_and_hash_seed_make_the_same(name: str) -> None:
    from beeline.digest import digest_of

    expected = digest_of(digests(name))
    for seed in ("0", "12345"):
        made = subprocess.run(
            [sys.executable, "-c", PRINT, name],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert made.stdout.strip() == expected


@families
def test_stored_manifest_is_of_these_instances(name: str) -> None:
    """L1 here; ``python -m domains.worlds.certify --check`` compares all."""
    from beeline.world_certify import certify
    from domains.worlds.certify import manifest_path

    path = manifest_path(name)
    if not path.is_file():
        pytest.skip(f"{name} has no manifest yet: python -m domains.worlds.certify {name}")
    stored = json.loads(path.read_text("utf-8"))
    assert certify(case_of(name).domain, "L1", 1).entry == stored["instances"]["L1/1"]


@families
def test_playthrough_is_as_stored(name: str) -> None:
    assert playthroughs.path_of(name).read_text("utf-8") == playthroughs.text_of(name), (
        f"python -m tests.domains.worlds.playthroughs {name} shows what changed"
    )
