"""A planted key is looked for in everything that runs leave behind."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from beeline.errors import SettingError
from protocols.fake import FakeServer
from protocols.secrets import read_key
from tests.commands import environment

KEY = 'sk-PLANTED/"+<7f3>&=%'
ACCOUNT = "acct-PLANTED-0001"
#: Faults that say the key back, and every way a run can end.
FAULTS = (
    (),
    ("overloaded:0.05", "all_zero:0.05", "refusal:0.05", "html:0.02"),
    ("wrong_key@9",),
    ("other_model@5",),
    ("envelope_failed@5",),
    ("server_error",),
)


def forms() -> list[bytes]:
    """The key as a leak could write it."""
    texts = {
        KEY,
        json.dumps(KEY)[1:-1],
        urllib.parse.quote(KEY),
        urllib.parse.quote_plus(KEY),
        repr(KEY)[1:-1],
    }
    texts |= {base64.b64encode(KEY.encode()).decode(), ACCOUNT, KEY[:11]}
    return [text.encode() for text in texts]


def outputs(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name == ".env":
            continue
        data = path.read_bytes()
        yield path, data
        if path.suffix == ".gz":
            yield path, gzip.decompress(data)


def run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment(folder, **env),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("faults", FAULTS, ids=lambda f: "+".join(f) or "none")
def test_no_output_of_a_run_holds_the_key(tmp_path: Path, faults: tuple[str, ...]) -> None:
    tracked = faults in (FAULTS[0], FAULTS[1])
    (tmp_path / ".env").write_text(f"BEELINE_TEST_KEY='{KEY}'\nBEELINE_TEST_ACCOUNT={ACCOUNT}\n")
    said = ""
    with FakeServer(*faults, key=KEY) as server:
        done = run(
            tmp_path,
            "beeline",
            "domain=countdown",
            "model=local",
            f"model.base_url={server.base_url}",
            "model.id=m",
            "model.key_variable=BEELINE_TEST_KEY",
            "model.account_variable=BEELINE_TEST_ACCOUNT",
            "model.patience_s=2",
            "trials=2",
            "archive=on",
            f"tracking={'mlflow' if tracked else 'none'}",
        )
        assert server.requests > 0, done.stderr
    said += done.stdout + done.stderr
    assert done.returncode == (0 if tracked else 1), said
    assert "Traceback" not in said
    for command in (("tracking.report", "--format", "json"), ("tracking.spend",)):
        more = run(tmp_path, *command)
        said += more.stdout + more.stderr
    seen = list(outputs(tmp_path))
    assert any(path.name == "spend.sqlite" for path, _ in seen)
    if tracked:
        assert any(
            b"BEELINE_TEST_KEY" in data
            for path, data in seen
            if path.suffix == ".db" or "mlflow" in str(path)
        )
    for form in forms():
        assert form not in said.encode()
        for path, data in seen:
            assert form not in data, f"{path} holds the key as {form!r}"


def test_a_key_is_found_in_each_place_in_order(tmp_path: Path) -> None:
    mounted = tmp_path / "secrets"
    mounted.mkdir()
    (mounted / "K").write_text("mounted\n")
    (tmp_path / "key").write_text("from-file\n")
    dotenv = tmp_path / ".env"
    env: dict[str, str] = {}

    def read() -> str:
        return read_key("K", env, dotenv=dotenv, run_secrets=mounted).reveal()

    assert read() == "mounted"
    env["K_FILE"] = str(tmp_path / "key")
    assert read() == "from-file"
    env["K"] = "from-environment"
    assert read() == "from-environment"
    dotenv.write_text("# a comment\nexport K = 'from $dotenv'\n")
    assert read() == "from $dotenv"
    dotenv.write_text(f"K_FILE={tmp_path / 'missing'}\n")
    del env["K"]
    with pytest.raises(SettingError, match=r"cannot read the key file .*missing.*No such file"):
        read()


def test_a_key_file_that_is_no_text_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"sk-\xff\xfe")
    with pytest.raises(SettingError) as caught:
        read_key(
            "K", {"K_FILE": str(tmp_path / "key")}, dotenv=tmp_path / "none", run_secrets=tmp_path / "none"
        )
    assert "sk-" not in str(caught.value)
    assert os.fspath(tmp_path / "key") in str(caught.value)
