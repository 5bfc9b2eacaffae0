"""A results folder that several tests of studies read: two models on countdown."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.commands import beeline

TRIALS = 8


def copied(folder: Path) -> None:
    """Give ``folder`` results of its own."""
    shutil.copytree(two_models() / "results", folder / "results")


@cache
def two_models() -> Path:
    """A folder whose ``results`` hold traces and archives of sparrow and of the first option;
    nobody writes there."""
    folder = Path(mkdtemp(prefix="beeline-two-models-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ran = beeline(
        folder, "-m", "domain=countdown", "model=sparrow,first_option", f"trials={TRIALS}", "archive=on"
    )
    assert ran.returncode == 0, ran.stderr
    return folder
