"""The test server: conforming without faults, and each fault is what it says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest

from protocols.fake import FAULTS, FakeServer
from protocols.fake.__main__ import main
from tests.protocols.asking import question, system_one
from tests.shared import ROOT


def body(options: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    criteria = dict.fromkeys(options or ["a", "b", "c"])
    asked = {"choose": {"type": "choice", "instructions": "Which?", "criteria": criteria}}
    return {"model": "m", "state": {"x": 1}, "questions": asked} | changes


def post(server: FakeServer, content: Any, path: str = "/systemone", **headers: str) -> httpx.Response:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx.post(server.base_url + path, content=raw, headers=headers, trust_env=False)


@pytest.fixture(scope="module")
def server() -> Any:
    with FakeServer() as running:
        yield running


def test_answers_every_type_of_question(server: FakeServer) -> None:
    asked = {
        "a choice": {"type": "choice", "instructions": "?", "criteria": {"x": None, "y": "described"}},
        "\u2603": {"type": "noul", "instructions": "?"},
        "s": {"type": "score", "instructions": "?", "criteria": ["low", "middle", "high"]},
    }
    got = post(server, body(questions=asked) | {"unknown": 1})
    assert got.status_code == 200
    assert got.headers["x-typesafe-request-id"].startswith("fake-")
    reply = got.json()
    assert reply["model"] == "m"
    assert list(reply["answers"]) == list(asked)
    choice, noul, score = reply["answers"].values()
    assert set(choice) == {"type", "choice", "confidence", "probabilities"}
    assert sum(choice["probabilities"].values()) == pytest.approx(1)
    assert set(noul) == {"type", "noul"}
    assert 0 <= noul["noul"] <= 1
    assert set(score) == {"type", "score", "confidence", "legend", "probabilities"}
    assert score["legend"] == {"0": "low", "1": "middle", "2": "high"}
    assert all(isinstance(n, int) for n in reply["usage"].values())


def test_probabilities_depend_on_the_option_texts_alone(server: FakeServer) -> None:
    options = [f"option {i}" for i in range(255)]
    first = post(server, body(options)).json()["answers"]["choose"]
    second = post(server, body(options[::-1], state="another", model="other")).json()["answers"]["choose"]
    assert first == second
    assert len(set(first["probabilities"].values())) > 250
    assert first["choice"] == max(first["probabilities"], key=first["probabilities"].__getitem__)


def test_confidence_is_that_of_jev(server: FakeServer) -> None:
    answer = post(server, body(["a", "b", "c", "d"])).json()["answers"]["choose"]
    most = max(answer["probabilities"].values())
    assert answer["confidence"] == pytest.approx((most - 0.25) / 0.75)
    one = post(server, body(["alone"])).json()["answers"]["choose"]
    assert (one["confidence"], one["probabilities"]) == (1.0, {"alone": 1.0})


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"{", ["body"]),
        (b"[" * 100_000, ["body"]),
        ([], ["body"]),
        ({"model": "m", "state": ""}, ["body", "questions"]),
        (body(model=7), ["body", "model"]),
        (body(model=""), ["body", "model"]),
        (body(state=None), ["body", "state"]),
        (body(questions={}), ["body", "questions"]),
        (body(questions=[]), ["body", "questions"]),
        (body(questions={"q": 1}), ["body", "questions", "q", "type"]),
        (body(questions={"q": {"type": "box"}}), ["body", "questions", "q", "type"]),
        (body(questions={"q": {"type": "choice", "criteria": {}}}), ["body", "questions", "q", "criteria"]),
        (
            body(questions={"q": {"type": "choice", "criteria": ["a"]}}),
            ["body", "questions", "q", "criteria"],
        ),
        (body(questions={"q": {"type": "score", "criteria": ["a"]}}), ["body", "questions", "q", "criteria"]),
    ],
)
def test_a_bad_request_is_422_with_its_place(server: FakeServer, content: Any, place: list[str]) -> None:
    got = post(server, content)
    assert got.status_code == 422
    assert [problem["loc"] for problem in got.json()["detail"]] == [place]


def test_a_choice_takes_255_options_and_no_more(server: FakeServer) -> None:
    assert post(server, body([str(i) for i in range(255)])).status_code == 200
    got = post(server, body([str(i) for i in range(256)]))
    assert got.status_code == 422
    assert "at most 255" in got.json()["detail"][0]["msg"]


def test_paths_methods_encodings_and_sizes(server: FakeServer) -> None:
    assert post(server, body(), "/decisions").status_code == 200
    assert post(server, body(), "/nothing").status_code == 404
    with httpx.Client(base_url=server.base_url, trust_env=False) as client:
        wrong = client.get("/systemone")
        assert (wrong.status_code, wrong.headers["Allow"]) == (405, "POST")
        assert "message" in wrong.json()["detail"]
        [model] = client.get("/models").json()["models"]
        assert set(model) == {"name", "description", "release_date"}
    assert post(server, b"(\xb5/\xfd\x00", **{"Content-Encoding": "zstd"}).status_code == 415
    assert post(server, b" " * (33 * 1024 * 1024)).status_code == 413


def test_keys() -> None:
    with FakeServer(key="k") as server:
        assert post(server, body()).status_code == 403
        assert post(server, body(), Authorization="Bearer x").status_code == 401
        assert post(server, body(), Authorization="Bearer k").status_code == 200


def test_two_servers_do_not_share_anything() -> None:
    with FakeServer("html") as first, FakeServer() as second:
        post(first, body())
        assert post(second, body()).json()["model"] == "m"
        assert (first.requests, second.requests) == (1, 1)


def test_a_taken_port_is_an_error_not_a_hang() -> None:
    with FakeServer() as first, pytest.raises(OSError, match="in use"), FakeServer(port=first.port):
        pass


# --- the program ----------------------------------------------------------------------------


def test_runs_as_a_program_and_stops_when_told() -> None:
    command = [sys.executable, "-m", "protocols.fake", "--port", "0", "--fault", "round2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[3]
        assert line == f"fake server at {address} (faults: round2)\n"
        assert address.startswith("http://127.0.0.1:")
        got = httpx.post(address + "/systemone", json=body(), trust_env=False).json()
        assert all(round(p, 2) == p for p in got["answers"]["choose"]["probabilities"].values())
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--fault", "rond2"]) == 2
    assert "did you mean round2" in capsys.readouterr().err
    with FakeServer() as running:
        assert main(["--port", str(running.port)]) == 1
    assert "cannot listen" in capsys.readouterr().err


def test_the_help_lists_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {fault.usage} " in shown for fault in FAULTS.values())


def test_our_own_client_agrees_with_httpx(server: FakeServer) -> None:
    asked = question("a", "b")
    raw = system_one(server.base_url).request_body(asked)
    assert post(server, raw).status_code == 200
