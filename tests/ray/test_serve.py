"""The Jev server in front of models that are placed on a node of a cluster."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.commands import environment
from tests.ray.asked import asked, write
from tests.ray.cluster import Nodes
from tests.ray.running import variables

pytestmark = pytest.mark.ray

PLACE = "model.placement={resources: {second_gpu: 0.5}, replicas: 2}"


def chosen(function: str) -> list[str]:
    """Settings of a model of tests.ray.asked."""
    named = [f"model.function=chosen:{function}", "plugins=[chosen]", "model.name=chosen"]
    return ["model=python", *named, "model.kinds=[choice,noul,score]"]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "protocols.serve", *words, "--port", "0"]


class Serving:
    def __init__(self, folder: Path, process: subprocess.Popen[str], address: str) -> None:
        self.folder, self.process, self.address = folder, process, address

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr.txt").read_text()

    def post(self, body: dict[str, Any]) -> httpx.Response:
        return httpx.post(f"{self.address}/v1/systemone", json=body, trust_env=False, timeout=60)


@contextmanager
def serving(folder: Path, nodes: Nodes, *words: str) -> Iterator[Serving]:
    write(folder)
    with (folder / "stderr.txt").open("w") as stderr:
        process = subprocess.Popen(
            command(*words),
            cwd=folder,
            env=environment(folder, PYTHONUNBUFFERED="1", **variables(nodes)),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"at (http://\S+)/v1", said)
        assert found is not None, said + (folder / "stderr.txt").read_text()
        yield Serving(folder, process, found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def server(nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("served"), nodes, *chosen("wait"), PLACE) as made:
        yield made


def body(context: str, options: list[str]) -> dict[str, Any]:
    state = {"task": "t", "goal": "g", "context": context}
    asked = {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)}
    return {"model": "jev-latest", "state": state, "questions": {"choose": asked}}


def weights(kind: str, options: list[str]) -> list[float]:
    """What the function says when it is asked directly."""
    given = [zlib.crc32(repr((kind, option)).encode()) % 1000 + 1 for option in options]
    return [weight / sum(given) for weight in given]


def test_requests_reach_two_replicas_together(server: Serving, nodes: Nodes) -> None:
    many = [[f"z{i}", f"a{i}", f"m{i}"] for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda options: server.post(body("together 8", options)), many))
    assert [reply.status_code for reply in replies] == [200] * 8
    for options, reply in zip(many, replies, strict=True):
        found = reply.json()["answers"]["choose"]["probabilities"]
        assert list(found) == options
        assert list(found.values()) == pytest.approx(weights("choice", options), rel=1e-12)
    pids, parents = asked(server.folder)
    assert pids == set(nodes.actors("ModelHost", "second"))
    assert len(pids) == 2
    assert parents == {nodes.raylet("second")}


def test_all_kinds_in_one_request(server: Serving) -> None:
    questions = {
        "which": {"type": "choice", "criteria": {"b": None, "a": None}},
        "is it": {"type": "noul", "instructions": "Is it?"},
        "how much": {"type": "score", "criteria": ["little", "more", "most"]},
        "only": {"type": "choice", "criteria": {"one": None}},
    }
    reply = server.post({"model": "chosen", "state": "s", "questions": questions}).json()
    assert reply["model"] == "chosen"
    answers = reply["answers"]
    assert list(answers) == list(questions)
    assert list(answers["which"]["probabilities"].values()) == pytest.approx(weights("choice", ["b", "a"]))
    assert answers["is it"]["noul"] == pytest.approx(weights("noul", ["yes", "no"])[0])
    levels = list(answers["how much"]["probabilities"].values())
    assert levels == pytest.approx(weights("score", ["little", "more", "most"]))
    assert answers["only"]["probabilities"] == {"one": 1.0}


def test_what_cannot_be_asked_and_what_fails(server: Serving) -> None:
    described = body("c", ["a", "b"])
    described["questions"]["choose"]["criteria"]["a"] = "the first"
    refused = server.post(described)
    assert refused.status_code == 400
    assert "describes its options" in refused.json()["detail"]["message"]
    failed = server.post(body("fail", ["a", "b"]))
    assert failed.status_code == 500
    assert "inside" not in failed.text
    number = failed.headers["x-typesafe-request-id"]
    said = f"request {number}: the function chosen:wait raised ValueError: the inside (line "
    assert said in server.stderr
    assert " of chosen.py) [node second]\n" in server.stderr.partition(said)[2]
    assert "Traceback" not in server.stderr


def test_a_process_that_is_killed_is_replaced(server: Serving, nodes: Nodes) -> None:
    before = nodes.actors("ModelHost", "second")
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(server.post, body("held", ["a", "b"]))
        while not (server.folder / "held").exists():
            assert not held.done(), held.result().text
            time.sleep(0.01)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        reply = held.result()
    assert reply.status_code == 200, server.stderr
    found = list(reply.json()["answers"]["choose"]["probabilities"].values())
    assert found == pytest.approx(weights("choice", ["a", "b"]))
    assert server.post(body("c", ["x", "y"])).status_code == 200
    assert not set(before) & set(nodes.actors("ModelHost", "second"))
    assert "the process that asks model chosen, " in server.stderr
    assert "on node second, was lost: what waits for it is asked again" in server.stderr
    assert "Traceback" not in server.stderr


def test_sigterm_ends_server_and_processes_in_order(server: Serving, nodes: Nodes) -> None:
    """The last of the module's server."""
    server.process.terminate()
    assert server.process.wait(30) == 0, server.stderr
    gone(nodes, "ModelHost")
    assert "Traceback" not in server.stderr
    with pytest.raises(httpx.ConnectError):
        server.post(body("c", ["a", "b"]))


def test_a_function_that_computes_and_ctrl_c(nodes: Nodes, tmp_path: Path) -> None:
    place = "model.placement={resources: {second_gpu: 1}}"
    with serving(tmp_path, nodes, *chosen("weigh"), place) as made:
        many = [[f"z{i}", f"a{i}"] for i in range(8)]
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda options: made.post(body("c", options)).json(), many))
        for options, reply in zip(many, replies, strict=True):
            found = list(reply["answers"]["choose"]["probabilities"].values())
            assert found == pytest.approx(weights("choice", options))
        os.killpg(made.process.pid, signal.SIGINT)
        assert made.process.wait(30) == 0, made.stderr
        assert made.stderr == ""
    gone(nodes, "ComputeHost")


def gone(nodes: Nodes, kind: str) -> None:
    deadline = time.monotonic() + 20
    while nodes.actors(kind, "second"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [*chosen("wait"), "model.placement={num_gpus: 1}"],
            "error: model chosen asks for a node with GPU: 1 (model.placement), and no node has room (first ",
        ),
        (
            ["model=sparrow", "model.weights=absent", PLACE],
            "error: model.weights='absent' is neither a file nor a sparrow model: ",
        ),
    ],
)
def test_what_the_cluster_cannot_serve(nodes: Nodes, tmp_path: Path, words: list[str], said: str) -> None:
    write(tmp_path)
    done = subprocess.run(
        command(*words),
        cwd=tmp_path,
        env=environment(tmp_path, **variables(nodes)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
