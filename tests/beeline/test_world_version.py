"""Families of a released version are pinned, each by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from beeline.errors import SettingError
from beeline.versions import name_run
from beeline.world_version import PINNED_WORLDS, read_worlds
from tests.commands import beeline
from tests.shared import ROOT


@pytest.mark.parametrize("version", PINNED_WORLDS)
def test_all_families_of_a_version_are_pinned(version: str) -> None:
    table = OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "version" / f"{version}.yaml").worlds)
    found = {name: family.digest for name, family in read_worlds(table).items()}
    assert len(found) >= 5
    assert found == PINNED_WORLDS[version]


def test_an_edited_table_is_refused() -> None:
    table = {"basket_assembly": {"edition": 1, "manifest": "0" * 64}}
    edited = read_worlds(table)["basket_assembly"]
    with pytest.raises(SettingError, match="never changes"):
        name_run("1.0.0", edited, edited, None, PINNED_WORLDS["1.0.0"]["basket_assembly"])
    assert edited.digest != replace(edited, edition=2).digest


def test_another_edition_is_custom(tmp_path: Path) -> None:
    done = beeline(
        tmp_path, "domain=series_portfolio", "study=baseline", "version.worlds.series_portfolio.edition=2"
    )
    assert done.returncode == 2
    assert "custom=NAME" in done.stderr
