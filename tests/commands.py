"""Run the command lines as a user does, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.shared import ROOT

PROVENANCE = ("started_utc", "finished_utc", "code", "container")
"""When and by which revision a record was made: a commit during the tests must not fail them."""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Ours, with a cache of the test's own."""
    paths = os.pathsep.join([str(ROOT), str(folder)])
    return os.environ | {"BEELINE_CACHE": str(folder / "cache"), "PYTHONPATH": paths} | more


def command(folder: Path, *overrides: str) -> list[str]:
    """A run that tracks nothing and writes into the folder."""
    return [sys.executable, "-m", "beeline", *overrides, "tracking=none", f"results={folder / 'results'}"]


def beeline(folder: Path, *overrides: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run to the end, wherever the folder is the working directory; ``more`` goes into its
    environment."""
    return subprocess.run(
        command(folder, *overrides),
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=120,
    )


def records(folder: Path, *parts: str) -> list[dict[str, Any]]:
    """Records sorted by trial, without what says when and by which code they were made."""
    path = Path(folder, "results", *parts)
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for record in found:
        for key in PROVENANCE:
            record.pop(key, None)
        if "model" in record["arms"]:
            del record["arms"]["model"]["latency_ms"]
    return sorted(found, key=lambda record: record["trial"])
