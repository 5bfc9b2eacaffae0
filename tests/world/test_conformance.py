"""The public conformance suite on our server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.world.servers import running, serve


@pytest.mark.parametrize(
    ("options", "key", "must", "should"),
    [
        (["decide"], None, 32, 13),
        (["batch", "--batch", "8", "--round", "2"], None, 32, 13),
        (["coroutine", "--key-variable", "WORLD_TEST_KEY"], "a-key", 32, 15),
    ],
)
def test_every_requirement_of_jevcompat(
    options: list[str],
    key: str | None,
    must: int,
    should: int,
    python_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    jevcompat = python_of("jevcompat").with_name("jevcompat")
    report = tmp_path / "report.json"
    with running(serve(*options), WORLD_TEST_KEY=key or "") as address:
        keyed = [] if key is None else ["--key", key]
        command = [str(jevcompat), "test", address, "--json", str(report), *keyed]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    summary = json.loads(report.read_text())["summary"]
    assert summary["verdict"] == "conformant"
    assert (summary["MUST"]["passed"], summary["MUST"]["failed"]) == (must, 0), done.stdout
    assert (summary["SHOULD"]["passed"], summary["SHOULD"]["failed"]) == (should, 0), done.stdout
