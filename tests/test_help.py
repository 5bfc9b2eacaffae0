"""``--help`` of the commands beside ``python -m beeline``: plain text for people."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.shared import ROOT

COMMANDS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("tracking", "domains")
    for path in (ROOT / package).rglob("*.py")
    if "ArgumentParser(" in path.read_text("utf-8")
)


def test_commands_are_found() -> None:
    assert {"tracking.report", "tracking.spend", "domains.worlds.certify"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_plain(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(name).main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: python -m {name} ")
    # What docstrings are marked up with.
    assert not re.search(r"`|:(mod|func|class|meth|data):|::", shown)
    described = shown.partition("\n\n")[2].partition("options:")[0]
    assert len(described.split()) >= 5
    # Every option says what it does.
    options = re.findall(r"^  (-.*?)(?=^  -|^\S|\Z)", shown.partition("options:")[2], re.M | re.S)
    assert options
    for option in options:
        assert re.search(r"\S(\s\s+|\n\s+)\S", option.strip()), option
