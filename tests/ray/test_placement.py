"""Models that are placed where a node has what they need: any Python model, asked from all nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ray.cluster import Nodes
from tests.ray.running import all_records, run, variables

pytestmark = pytest.mark.ray

FUNCTIONS = """
import zlib

def weigh(question):
    return [zlib.crc32(option.encode()) % 1000 + 1 for option in question.options]

async def wait(question):
    return weigh(question)
"""


def asked(folder: Path, function: str, *more: str, **variables: str):  # type: ignore[no-untyped-def]
    folder.mkdir(exist_ok=True)
    (folder / "chosen.py").write_text(FUNCTIONS)
    model = ("model=python", f"model.function=chosen:{function}", "plugins=[chosen]", "model.id=chosen")
    short = ("version.max_expansions=40", "custom=short")
    return run(folder, "domain=countdown", "trials=6", *model, *short, *more, **variables)


@pytest.mark.parametrize("function", ["weigh", "wait"])
def test_a_python_model_on_the_node_that_has_the_resource(
    nodes: Nodes, tmp_path: Path, function: str
) -> None:
    near = asked(tmp_path / "near", function)
    assert near.returncode == 0, near.stderr
    place = "model.placement={resources: {second_gpu: 0.5}, replicas: 2}"
    far = asked(tmp_path / "far", function, "engine=ray", place, **variables(nodes))
    assert far.returncode == 0, far.stderr
    assert "gains nothing" not in far.stderr
    assert all_records(tmp_path / "far") == all_records(tmp_path / "near")


def test_what_no_node_has_and_where_it_cannot_be(nodes: Nodes, tmp_path: Path) -> None:
    ran = asked(tmp_path, "weigh", "engine=ray", "model.placement={num_gpus: 1}", **variables(nodes))
    assert ran.returncode == 2, ran.stderr
    assert "asks for a node with GPU: 1 (model.placement), and no node has room" in ran.stderr
    assert "second has CPU: 1, second_gpu: 1" in ran.stderr
    assert "Traceback" not in ran.stderr
    ran = asked(
        tmp_path, "weigh", "engine=ray", "model.placement={num_cpus: 1, replicas: 2}", **variables(nodes)
    )
    assert ran.returncode == 2, ran.stderr
    assert "model.placement takes 2 CPUs, which leaves none for the searches" in ran.stderr
    ran = asked(tmp_path, "weigh", "model.placement={num_gpus: 1}")
    assert ran.returncode == 2, ran.stderr
    assert "that takes engine=ray" in ran.stderr


def test_an_error_names_the_node_of_the_model(nodes: Nodes, tmp_path: Path) -> None:
    place = "model.placement={resources: {second_gpu: 1}}"
    ran = asked(tmp_path, "weigh", "engine=ray", place, "model.timeout_s=0.000001", **variables(nodes))
    assert ran.returncode == 1, ran.stderr
    assert "did not answer within 1e-06 s (model.timeout_s) [node second]" in ran.stderr
