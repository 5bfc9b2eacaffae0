"""Whole runs with engine=ray on the cluster of the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.commands import command, environment, records
from tests.ray.cluster import VARIABLES, Nodes


def variables(nodes: Nodes | None = None) -> dict[str, str]:
    """Environment of a driver; with ``nodes`` RAY_ADDRESS names their cluster."""
    return VARIABLES | ({} if nodes is None else {"RAY_ADDRESS": nodes.address})


def run(folder: Path, *overrides: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        command(folder, *overrides),
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=240,
    )


def all_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Every records file of a run, without times and what names an address."""
    root = folder / "results"
    found = {}
    for path in sorted(root.rglob("*.jsonl")):
        name = str(path.relative_to(root))
        if name.startswith(("traces", "archive")):
            continue
        found[name] = records(folder, name)
        for record in found[name]:
            del record["spec"]
            if "model" in record["arms"]:
                del record["arms"]["model"]["retries"]
    return found
