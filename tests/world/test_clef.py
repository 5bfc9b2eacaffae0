"""A tiny random Clef, in process and behind our server, alone and in batches, by whole trials (60 s).

Needs a CPU build of torch, which pip has to be able to find; skipped where it is not.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.commands import beeline, records
from tests.shared import ROOT
from tests.world.servers import running

#: Two servers, two cores: threads that wait for each other cost ten times what they save.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
ON_PATH = str(Path(__file__).parent / "clef_path")
LENGTH = 16384


def tiny(python: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(python), "-m", "tests.world.clef_tiny", *arguments],
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": ON_PATH},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def release(python_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release."""
    folder = tmp_path_factory.mktemp("clef") / "release"
    tiny(python_of("clef"), str(folder))
    return folder


def command(python: Path, target: str, *options: str) -> list[str]:
    return [str(python), "-m", "protocols.serve", target, "--port", "0", "--model", "clef", *options]


def variables(folder: Path) -> dict[str, str]:
    small = {"CLEF_DTYPE": "float32", "CLEF_DEVICE": "cpu", "CLEF_MAX_LENGTH": str(LENGTH)}
    return {**ONE_THREAD, **small, "CLEF_FOLDER": str(folder), "PYTHONPATH": ON_PATH}


def in_process(python: Path, folder: Path) -> dict[str, str]:
    """The environment in which our interpreter finds torch too."""
    packages = next((python.parents[1] / "lib").glob("python*/site-packages"))
    paths = os.pathsep.join([ON_PATH, str(ROOT), str(folder)])
    return {**ONE_THREAD, "PYTHONPATH": paths, "CLEF_PACKAGES": str(packages)}


def body(state: str, options: list[str]) -> dict[str, Any]:
    questions = {
        "choose": {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)},
        "yes": {"type": "noul", "instructions": "Is it?"},
        "level": {"type": "score", "instructions": "How?", "criteria": ["low", "high"]},
    }
    return {"model": "clef", "state": state, "questions": questions}


@pytest.fixture(scope="module")
def batched(python_of: Callable[[str], Path], release: Path) -> Iterator[str]:
    asked = command(python_of("clef"), "protocols.clef_release:decide", "--batch", "4", "--wait", "0.1")
    with running(asked, **variables(release)) as address:
        yield address


def ask(address: str, asked: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{address}/v1/systemone", json=asked, trust_env=False, timeout=60)


def numbers(reply: dict[str, Any]) -> list[float]:
    answers = reply["answers"]
    return [
        *answers["choose"]["probabilities"].values(),
        answers["yes"]["noul"],
        *answers["level"]["probabilities"].values(),
    ]


def test_a_batch_answers_as_the_release_does_alone(
    batched: str, python_of: Callable[[str], Path], release: Path
) -> None:
    asked = [body("s" * 3**i, [f"option {j}" for j in range(2 + 3 * i)]) for i in range(4)]
    one_by_one = command(python_of("clef"), "tests.world.clef_tiny:alone")
    with running(one_by_one, **variables(release)) as address:
        alone = [ask(address, one).json() for one in asked]
    with ThreadPoolExecutor(4) as pool:
        together = [reply.json() for reply in pool.map(lambda one: ask(batched, one), asked)]
    for one, other in zip(alone, together, strict=True):
        assert numbers(other) == pytest.approx(numbers(one), abs=2e-4)
        assert other["usage"] == one["usage"]
        assert list(other["answers"]["choose"]["probabilities"]) == list(
            one["answers"]["choose"]["probabilities"]
        )
    assert len({tuple(numbers(reply)) for reply in alone}) == 4


def test_what_is_too_long_is_400_and_its_neighbours_are_answered(batched: str) -> None:
    few = ["a", "b"]
    asked = [body("s", few), body("s", ["x" * 17000, "b"]), body("s" * LENGTH, few), body("t", few)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda one: ask(batched, one), asked))
    assert [reply.status_code for reply in replies] == [200, 400, 400, 200]
    details = [reply.json()["detail"] for reply in replies[1:3]]
    assert {detail["error_type"] for detail in details} == {"max_tokens_exceeded"}
    assert f"maximum is {LENGTH}" in details[0]["message"]
    assert "would be cut" in details[1]["message"]


@pytest.mark.parametrize("budget", [1, 3000, 100_000])
def test_a_batch_equals_one_by_one(budget: int, python_of: Callable[[str], Path], release: Path) -> None:
    """To 1e-5, before any rounding; padded tokens of a pass for one request, for some, for all."""
    assert float(tiny(python_of("clef"), str(release), str(budget)).split()[-1]) < 1e-5


def test_whole_trials_in_process_and_over_http(
    batched: str, python_of: Callable[[str], Path], release: Path, tmp_path: Path
) -> None:
    trials = ["domain=countdown", "trials=2", "version.max_expansions=8", "custom=small"]
    local = ["model=local", f"model.base_url={batched}/v1", "model.id=clef", "model.name=clef"]
    weights = [f"model.weights.folder={release}", "model.weights.device=cpu", "model.weights.dtype=float32"]
    torch_too = in_process(python_of("clef"), tmp_path)
    for name, options, more in (
        ("clef", local, {}),
        ("clef_weights", ["model=clef", "model.backend=weights", *weights], torch_too),
    ):
        done = beeline(tmp_path, *trials, *options, **more)
        assert done.returncode == 0, done.stderr
        found = records(tmp_path, "custom-small", name, "score", "countdown.benchmark.jsonl")
        assert len(found) == 2
        for arm in (record["arms"]["model"] for record in found):
            assert arm["requests"] > 0
            assert arm["outcomes"]["answered"] + arm["outcomes"]["tie"] == arm["requests"]
            assert arm["input_tokens"] > 100 * arm["requests"]


def test_in_process_without_a_gpu_says_what_is_missing(
    python_of: Callable[[str], Path], tmp_path: Path
) -> None:
    torch_too = in_process(python_of("clef"), tmp_path)
    done = beeline(tmp_path, "model=clef", "model.backend=weights", **torch_too, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    for said in ("needs a GPU with 60 GB free", "engine=ray", "model.backend=hosted"):
        assert said in done.stderr
