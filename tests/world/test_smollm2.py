"""SmolLM2 out of its wheel: whole trials in process, and through llama.cpp's own server."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocols.smollm2 import INSTALL
from tests.commands import command, environment, records
from tests.shared import ROOT
from tests.world.servers import running

#: Small enough for a minute on one core: a frontier of six options.
SMALL = (
    "domain=countdown",
    "trials=2",
    "version.max_frontier=6",
    "version.max_expansions=12",
    "custom=small",
)


@pytest.fixture(scope="module")
def packages(python_of: Callable[[str], Path]) -> Path:
    """Where the environment keeps its packages."""
    [folder] = python_of("smollm2").parents[1].glob("lib/python*/site-packages")
    return folder


def run(folder: Path, packages: Path | None, *overrides: str) -> subprocess.CompletedProcess[str]:
    """beeline in our interpreter, with the environment's packages beside ours."""
    variables = environment(folder)
    if packages is not None:
        variables["PYTHONPATH"] += f":{packages}"
    return subprocess.run(
        command(folder, *SMALL, *overrides),
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
    )


def arms(folder: Path, name: str) -> list[dict[str, Any]]:
    [path] = folder.glob(f"results/**/{name}/**/countdown*.jsonl")
    return [
        record["arms"]["model"] for record in records(folder, *path.relative_to(folder / "results").parts)
    ]


@pytest.mark.parametrize("way", ["each", "numbers"])
def test_whole_trials_are_the_same_whatever_the_number_of_workers(
    way: str, packages: Path, tmp_path: Path
) -> None:
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        done = run(folder, packages, "model=smollm2", f"model.ask={way}", f"engine.workers={workers}")
        assert done.returncode == 0, done.stderr
        found.append(arms(folder, "smollm2"))
    assert found[0] == found[1]
    for arm in found[0]:
        assert arm["served_models"] == {"smollm2-135m-instruct-q4_1": arm["requests"]}
        assert (arm["invalid_answers"], arm["fallbacks"], arm["cost_usd"]) == (0, 0, 0.0)
        assert arm["input_tokens"] > 100


def test_a_real_model_held_to_our_schema_picks_numbers_that_exist(
    python_of: Callable[[str], Path], packages: Path, tmp_path: Path
) -> None:
    program = [str(python_of("smollm2")), str(ROOT / "tests" / "world" / "llama_server.py")]
    with running(program) as address:
        server = ("model=local_chat", f"model.base_url={address}/v1", "model.id=smollm2", "model.seed=1")
        done = run(tmp_path, None, *server, "model.concurrency=1")
    assert done.returncode == 0, done.stderr
    for arm in arms(tmp_path, "local_chat"):
        assert arm["requests"] > 3
        assert arm["served_models"] == {"smollm2": arm["requests"]}
        assert (arm["invalid_answers"], arm["refusals"], arm["ties"], arm["disagreements"]) == (0, 0, 0, 0)
        assert arm["output_tokens"] >= 5 * arm["requests"]


def test_without_the_packages_one_sentence_says_what_to_type(tmp_path: Path) -> None:
    try:
        import xllamacpp  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        done = run(tmp_path, None, "model=smollm2")
        assert done.returncode == 2
        assert INSTALL in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    else:
        pytest.skip("xllamacpp is installed beside beeline")
