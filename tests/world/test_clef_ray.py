"""The tiny release of Clef as an actor on the node of a cluster that has what it asks for (60 s)."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.ray.cluster import Nodes
from tests.ray.running import all_records, run, variables
from tests.world import test_clef
from tests.world.servers import running
from tests.world.test_clef import LENGTH, ask, body, in_process, numbers, release

__all__ = ["release"]  # a fixture

TRIALS = ["domain=countdown", "trials=3", "version.max_expansions=6", "custom=small"]


@pytest.fixture(scope="module")
def torch_too(python_of: Callable[[str], Path]) -> dict[str, str]:
    return in_process(python_of("clef"), Path("/tmp"))


@pytest.fixture(scope="module")
def nodes(torch_too: dict[str, str]) -> Iterator[Nodes]:
    folder = Path(tempfile.mkdtemp(prefix="bl-clef-", dir="/tmp"))  # short: for sockets
    try:
        with Nodes(folder, **torch_too) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_the_node_with_the_resource_answers_for_all(
    nodes: Nodes, release: Path, torch_too: dict[str, str], tmp_path: Path
) -> None:
    weights = [f"model.weights.folder={release}", "model.weights.device=cpu", "model.weights.dtype=float32"]
    clef = [*TRIALS, "model=clef", "model.backend=weights", *weights]
    near = run(tmp_path / "near", *clef, **torch_too)
    assert near.returncode == 0, near.stderr
    place = "model.placement={resources: {second_gpu: 1}}"
    far = run(tmp_path / "far", *clef, "engine=ray", place, **(torch_too | variables(nodes)))
    assert far.returncode == 0, far.stderr
    found = all_records(tmp_path / "far")
    assert found == all_records(tmp_path / "near")
    (kept,) = found.values()
    assert len(kept) == 3
    assert all(record["arms"]["model"]["requests"] > 0 for record in kept)


def test_without_a_gpu_in_the_cluster_the_alternatives_are_named(
    nodes: Nodes, torch_too: dict[str, str], tmp_path: Path
) -> None:
    clef = [*TRIALS, "model=clef", "model.backend=weights"]
    done = run(tmp_path, *clef, "engine=ray", **(torch_too | variables(nodes)))
    assert done.returncode == 2, done.stderr
    for said in ("asks for a node with GPU: 1", "first has CPU: 1", "model.backend=hosted"):
        assert said in done.stderr


def test_the_server_in_front_of_it_answers_as_the_release_does(
    nodes: Nodes, release: Path, torch_too: dict[str, str], python_of: Callable[[str], Path]
) -> None:
    """Whole bodies: several questions in one, with descriptions and ids of their own."""
    weights = [f"model.weights.folder={release}", "model.weights.device=cpu", "model.weights.dtype=float32"]
    place = ["model.placement={resources: {second_gpu: 1}}", f"model.weights.max_length={LENGTH}"]
    words = ["model=clef", "model.backend=weights", *weights, *place, "model.weights.wait_s=0.1"]
    serve = [sys.executable, "-m", "protocols.serve", *words, "--port", "0", "--model", "clef"]
    asked = [body("s" * 3**i, [f"option {j}" for j in range(2 + 3 * i)]) for i in range(3)]
    asked[0]["questions"]["choose"]["criteria"]["option 0"] = "the first of all"
    one_by_one = test_clef.command(python_of("clef"), "tests.world.clef_tiny:alone")
    with running(one_by_one, **test_clef.variables(release)) as address:
        alone = [ask(address, one).json() for one in asked]
    with running(serve, **(torch_too | variables(nodes))) as address:
        assert nodes.actors("ModelHost", "second")
        asked.append(body("s" * LENGTH, ["a", "b"]))
        with ThreadPoolExecutor(4) as pool:
            *together, too_long = pool.map(lambda one: ask(address, one), asked)
    for one, other in zip(alone, (reply.json() for reply in together), strict=True):
        assert numbers(other) == pytest.approx(numbers(one), abs=2e-4)
        assert other["usage"] == one["usage"]
    assert too_long.status_code == 400
    assert too_long.json()["detail"]["error_type"] == "max_tokens_exceeded"
