"""docs/studies.md names every study and every setting of one, and its commands are commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from beeline.overrides import check_overrides, config_folder

PAGE = Path(__file__).parents[2] / "docs/studies.md"
STUDIES = sorted(path.stem for path in (config_folder() / "study").glob("*.yaml"))


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_and_setting_is_on_the_page(study: str) -> None:
    page = PAGE.read_text()
    assert f"`{study}`" in page
    settings = set(OmegaConf.load(config_folder() / f"study/{study}.yaml")) - {"name", "target"}
    section = page.partition(f"\n## {study}\n")[2].partition("\n## ")[0]
    assert [s for s in sorted(settings) if f"study.{s}" not in section] == []


def test_its_commands_are_accepted() -> None:
    commands = re.findall(r"^python -m beeline (.+)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) >= 10
    for command in commands:
        check_overrides([argument.strip("'") for argument in command.split()])
