"""``python -m protocols.serve`` as its user runs it: start, stop, and what it says when it cannot."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from protocols.serve.__main__ import main
from tests.protocols.test_serve import body
from tests.shared import ROOT

HERE = "tests.protocols.served"


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its base address."""
    command = [sys.executable, "-m", "protocols.serve", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"at (http://\S+)/v1", said)
        assert address is not None, said + process.communicate()[1]
        yield process, address[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ask(address: str, **changes: Any) -> httpx.Response:
    return httpx.post(f"{address}/v1/systemone", json=body(**changes), trust_env=False, timeout=20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_finish(number: signal.Signals) -> None:
    with running(f"{HERE}:slow", "--port", "0") as (process, address):
        got: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: got.append(ask(address)))
        asking.start()
        while httpx.get(f"{address}/health", trust_env=False).json()["held"] == 0:
            pass
        process.send_signal(number)
        assert process.wait(20) == 0
        asking.join()
        assert got[0].status_code == 200
        assert process.stderr is not None
        assert process.stderr.read() == ""
        with pytest.raises(httpx.ConnectError):
            ask(address)


def test_a_second_signal_does_not_wait_for_a_function_that_hangs() -> None:
    with running(f"{HERE}:hang", "--port", "0") as (process, address):
        got: list[int | None] = []

        def asks() -> None:
            try:
                got.append(ask(address).status_code)
            except httpx.TransportError:
                got.append(None)

        asking = threading.Thread(target=asks)
        asking.start()
        while httpx.get(f"{address}/health", trust_env=False).json()["held"] == 0:
            pass
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        process.terminate()
        assert process.wait(20) == 1
        asking.join()
        assert got in ([None], [500])
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_options_of_the_command_reach_the_server() -> None:
    options = [
        "--batch",
        "4",
        "--wait",
        "0",
        "--model",
        "m1",
        "--alias",
        "m2",
        "--round",
        "1",
        "--max-options",
        "3",
    ]
    with running(f"{HERE}:batch", "--port", "0", *options) as (_, address):
        reply = ask(address, model="m2").json()
        assert reply["model"] == "m1"
        assert all(p == round(p, 1) for p in reply["answers"]["choose"]["probabilities"].values())
        assert ask(address, model="jev-latest").status_code == 400
        assert ask(address, options="abcd", model="m1").status_code == 422


def test_the_traceback_of_a_function_goes_to_the_log_only() -> None:
    with running(f"{HERE}:by_state", "--port", "0") as (process, address):
        got = ask(address, state="raise")
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr is not None
        log = process.stderr.read()
    assert got.status_code == 500
    assert got.headers["x-typesafe-request-id"] in log
    assert "ValueError: secret inside" in log
    assert log.count("Traceback") == 1


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line it says when it does not start."""
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    return output.err


def test_a_port_in_use_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} at 127.0.0.1 is in use" in said(capsys, f"{HERE}:decide", "--port", port)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((f"{HERE}:decied",), "did you mean decide"),
        (("no_such_module_at_all:decide",), "there is no module no_such_module_at_all"),
        ((f"{HERE}:decide", "--batch", "0"), "--batch must be 1 or more"),
        ((f"{HERE}:decide", "--key-variable", "NO_SUCH_KEY_HERE"), "NO_SUCH_KEY_HERE"),
        ((f"{HERE}:decide", "--host", "999.1.1.1"), "no address called 999.1.1.1"),
        ((f"{HERE}:decide", "--host", "192.0.2.1"), "cannot listen at 192.0.2.1"),
    ],
)
def test_what_cannot_start_is_one_sentence(
    arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in said(capsys, *arguments)


def test_a_host_that_others_reach_is_warned_of() -> None:
    with running(f"{HERE}:decide", "--port", "0", "--host", "0.0.0.0") as (process, address):
        assert ask(address.replace("0.0.0.0", "127.0.0.1")).status_code == 200
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr is not None
        warning = process.stderr.read()
    assert "other machines can reach this server at 0.0.0.0, and no key is asked for" in warning
