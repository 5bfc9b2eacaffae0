"""Trials 1 to 40 of each domain are those of the published benchmark, to the last expansion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.domains_found import all_arms, definition, instance_of, make, targets
from tests.shared import ROOT, shared_folder

ARMS = ("oracle", "heuristic", "random", "first_option")


def measured(name: str, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What we find for the wanted trials, in the form of the ground truth."""
    domain, limits = make(name), definition().limits
    found = []
    for trial in (truth["trial"] for truth in wanted):
        space = domain.space(trial, instance_of(domain, trial))
        arms = all_arms(space, domain, trial, limits)
        found.append(
            {
                "trial": trial,
                "start": space.text(space.start),
                "shortest_path": space.shortest_path,
                "states_reachable": space.states_reachable,
                "states_reaching_goal": space.states_reaching_goal,
                **arms,
            }
        )
    return found


@pytest.mark.parametrize("name", targets())
def test_forty_trials_equal_the_ground_truth(name: str) -> None:
    truth = json.loads(shared_folder("data", "conformance", f"{name}.json").read_text())
    wanted = truth["trials"]
    assert (truth["version"], truth["domain"]) == ("1.0.0", name)
    assert truth["heuristic"] == make(name).heuristic
    assert [trial["trial"] for trial in wanted] == list(range(1, 41))
    for true, found in zip(wanted, measured(name, wanted), strict=True):
        for arm in ARMS:
            # Scores are left to the rules, and an oracle's choices are not tallied.
            kept = {key: found[arm][key] for key in true[arm]}
            assert kept == true[arm], f"{name}, trial {true['trial']}, {arm}"
            assert {"expansions", "solved", "path_length"} <= kept.keys()
        rest = true.keys() - set(ARMS)
        assert {"shortest_path", "states_reachable", "states_reaching_goal"} <= rest
        assert {key: found[key] for key in rest} == {key: true[key] for key in rest}


def test_results_do_not_depend_on_the_hash_seed() -> None:
    names = list(targets())
    for name in names:
        if name in ("word_ladder", "wikispeedia"):
            shared_folder("data")
    outputs = []
    for seed in ("0", "4242"):
        run = subprocess.run(
            [sys.executable, "-m", "tests.conformance.fingerprint", *names],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(run.stdout.splitlines())
    assert [line.split()[0] for line in outputs[0]] == names
    assert outputs[0] == outputs[1]
