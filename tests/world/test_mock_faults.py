"""Whole trials of our client against jevcompat's mock, under each of its faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.commands import environment, records
from tests.shared import ROOT
from tests.world.faults import COUNTED, FAULTS, Expected, rows

CLEAN = ""
SERVED = "jevcompat-mock-0.1"


@dataclass
class Run:
    """How one run ended."""

    code: int
    said: str
    arms: list[dict[str, Any]]
    """The model arm of each record."""


@pytest.fixture(scope="module")
def mocks(python_of: Callable[[str], Path]) -> Iterator[dict[str, str]]:
    """Fault to address; the servers end when their input does."""
    keyed = [fault for fault, expected in FAULTS.items() if expected.keyed]
    command = [str(python_of("jevcompat")), str(ROOT / "tests" / "world" / "mocks.py"), *keyed]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)


@pytest.fixture(scope="module")
def runs(mocks: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Run]]]:
    """All runs, two at a time; a test waits for its own."""
    folder = tmp_path_factory.mktemp("mocks")

    def run(fault: str, expected: Expected) -> Run:
        name = f"mock-{fault or 'clean'}"
        keyed = ["model.key_variable=WORLD_TEST_KEY"] if expected.key else []
        command = [
            *(sys.executable, "-m", "beeline", f"domain={expected.domain}", "trials=2", "engine.workers=1"),
            *("model=local", f"model.base_url={mocks[fault]}/v1", "model.id=jev-latest"),
            *(f"model.name={name}", f"model.served_names=[{SERVED}]", "tracking=none", *keyed),
            f"results={folder / 'results'}",
        ]
        env = environment(folder, WORLD_TEST_KEY=expected.key) | {"no_proxy": "127.0.0.1"}
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        path = ("1.0.0", name, "score", f"{expected.domain}.benchmark.jsonl")
        written = os.path.exists(folder.joinpath("results", *path))
        arms = [record["arms"]["model"] for record in records(folder, *path)] if written else []
        return Run(done.returncode, done.stderr, arms)

    with ThreadPoolExecutor(2) as pool:
        clean = {CLEAN: Expected("none", "")}
        yield {fault: pool.submit(run, fault, expected) for fault, expected in (clean | FAULTS).items()}


def test_the_table_has_every_fault_of_the_mock(mocks: dict[str, str]) -> None:
    assert set(mocks) == {CLEAN, *FAULTS}


def test_without_faults(runs: dict[str, Future[Run]]) -> None:
    clean = runs[CLEAN].result()
    assert (clean.code, clean.said) == (0, "")
    assert len(clean.arms) == 2
    for arm in clean.arms:
        assert arm["requests"] == arm["outcomes"]["answered"] > 0
        assert arm["served_models"] == {SERVED: arm["requests"]}
        assert arm["input_tokens"] > 0


@pytest.mark.parametrize("fault", FAULTS)
def test_what_we_do_under_each_fault(fault: str, runs: dict[str, Future[Run]]) -> None:
    expected, run, clean = FAULTS[fault], runs[fault].result(), runs[CLEAN].result()
    if expected.effect == "stops":
        assert run.code == 1
        assert expected.told in run.said
        assert "Traceback" not in run.said
        return
    assert (run.code, run.said) == (0, "")
    if expected.effect == "none":
        assert run.arms == clean.arms
    elif expected.effect == "counted":
        changed = COUNTED[expected.told].fields
        assert run.arms == [arm | {name: of(arm) for name, of in changed.items()} for arm in clean.arms]
    else:
        assert run.arms != clean.arms
        for arm in run.arms:
            assert arm["requests"] == arm["outcomes"]["answered"] > 0


def test_the_document_says_the_same() -> None:
    assert rows() in ROOT.joinpath("docs", "world.md").read_text("utf-8")
