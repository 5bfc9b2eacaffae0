"""What holds over all workers, what is refused at once, and how errors and keys travel."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from protocols.fake import FakeServer
from tests.faults.running import Running, against
from tests.faults.test_cap import spent
from tests.ray.cluster import Nodes, children, title
from tests.ray.running import all_records, run, variables
from tests.test_no_secret_leaks import KEY, forms

pytestmark = pytest.mark.ray

RAY = ("engine=ray", "engine.workers=2", "engine.in_flight=8", "model.concurrency=16")


def test_a_cap_and_a_budget_hold_over_all_workers(nodes: Nodes, tmp_path: Path) -> None:
    most = 200
    with FakeServer(latency_ms=5) as server:
        ran = run(
            tmp_path, *against(server, *RAY, f"spend.max_requests={most}", trials=60), **variables(nodes)
        )
        assert ran.returncode == 1, ran.stderr
        assert server.requests == most
        assert server.most_in_flight <= 16
    assert spent(tmp_path).flying == 0
    assert spent(tmp_path).requests == most
    # Said once, as engine=local says it: the ledger is the driver's.
    assert ran.stderr.count("beeline: a cap is reached for all models of ") == 1
    assert "Finished trials are kept: raise spend.max_requests and run the same command again\n" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_what_no_node_has_is_said_at_once(nodes: Nodes, tmp_path: Path) -> None:
    began = time.monotonic()
    ran = run(
        tmp_path, "domain=tiles", "study=baseline", "engine=ray", "engine.workers=50", **variables(nodes)
    )
    assert ran.returncode == 2
    assert "engine.workers=50: the cluster has the resource CPU for " in ran.stderr
    assert "first with 1 CPUs" in ran.stderr
    assert "second with 1 CPUs" in ran.stderr
    assert time.monotonic() - began < 120  # and not when somebody gives up


def test_an_address_where_nothing_is(tmp_path: Path) -> None:
    nowhere = ("engine=ray", "engine.address=127.0.0.1:1")
    ran = run(tmp_path, "domain=tiles", "study=baseline", *nowhere, **variables())
    assert ran.returncode == 2
    assert "engine.address=127.0.0.1:1: no Ray cluster can be used there" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_error_in_a_worker_is_said_once_with_its_node(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(
        "def decide(question):\n    raise ValueError(f'no idea of {question.kind}')\n"
    )
    model = ("model=python", "model.function=faulty:decide", "plugins=[faulty]", "trials=4")
    said = []
    for name, engine in (("near", "engine=local"), ("far", "engine=ray")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "faulty.py").write_text((tmp_path / "faulty.py").read_text())
        ran = run(folder, "-m", "domain=countdown,keys_doors", *model, engine, **variables(nodes))
        assert ran.returncode == 1
        lines = [line for line in ran.stderr.splitlines() if line.startswith("beeline: ")]
        assert len(lines) == 2  # one a job: the second job ran
        said.append([line.partition(" [node ")[0] for line in lines])
        assert all((" [node " in line) == (engine == "engine=ray") for line in lines)
    assert said[0] == said[1]


def test_keys_reach_the_model_and_nothing_else(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"BEELINE_TEST_KEY='{KEY}'\n")
    with FakeServer(key=KEY) as server:
        more = (*RAY, "model.key_variable=BEELINE_TEST_KEY", "archive=on")
        ran = run(tmp_path, *against(server, *more, trials=3), **variables(nodes))
        assert ran.returncode == 0, ran.stderr
    files = [path for path in (nodes.folder, tmp_path) for path in path.rglob("*")]
    logs = [path for path in files if path.is_file() and path.name != ".env"]
    assert any("gcs_server" in path.name for path in logs)
    for path in logs:
        data = path.read_bytes()
        assert not any(form in data for form in forms()), path
    assert not any(form.decode() in ran.stdout + ran.stderr for form in forms())


def test_a_private_ray_beside_a_cluster_and_an_interrupt(nodes: Nodes, tmp_path: Path) -> None:
    """engine.address=local ignores RAY_ADDRESS; a signal ends it with all its processes. (Ray has a handler
    of SIGTERM of its own, which would end it with a dump.)"""
    with FakeServer(latency_ms=20) as server:
        overrides = against(server, *RAY, "engine.address=local", trials=12)
        with Running(tmp_path, overrides, **variables(nodes)) as going:
            going.until(lambda: server.requests > 20)
            mine = family(going.process.pid)
            assert any("raylet" in title(pid) for pid in mine)
            going.process.send_signal(signal.SIGTERM)
            assert going.end() == 143, going.stderr
        assert "interrupted: finished trials are kept" in going.stderr
        assert "Traceback" not in going.stderr
        assert "SIGTERM" not in going.stderr
        deadline = time.monotonic() + 30
        while any("ray" in title(pid) for pid in mine) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not [title(pid) for pid in mine if "ray" in title(pid)]
        # The cluster is as it was, and finishes the run.
        ran = run(tmp_path, *against(server, *RAY, trials=12), **variables(nodes))
        assert ran.returncode == 0, ran.stderr
    (found,) = all_records(tmp_path).values()
    assert [record["trial"] for record in found] == list(range(1, 13))


def family(parent: int) -> list[int]:
    """All processes below one."""
    found = children(parent)
    return found + [pid for child in found for pid in family(child)]
