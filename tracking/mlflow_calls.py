"""The few calls of MLflow that conditions and sweeps share. Nothing of MLflow is imported before one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["PARAM_LENGTH", "clean_name", "find_run", "log_metrics", "open_once"]

PARAM_LENGTH = 6000
"""Characters that a param may have."""
_BATCH = 1000


def find_run(client: Any, experiment: str, tags: Mapping[str, str]) -> Any:
    """The newest run with these tags, or None."""
    wanted = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
    runs = client.search_runs([experiment], filter_string=wanted, max_results=1)
    return runs[0] if runs else None


def log_metrics(client: Any, run: str, values: Sequence[tuple[str, float, int]]) -> None:
    """Log (name, value, step), as of now."""
    import time

    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    metrics = [Metric(key, value, now, step) for key, value, step in values]
    for at in range(0, len(metrics), _BATCH):
        client.log_batch(run, metrics=metrics[at : at + _BATCH])


def open_once(path: str) -> None:
    """Raise at once where a database cannot be opened or is none: MLflow would try ten times
    with growing waits, for more than a minute and a half."""
    with contextlib.closing(sqlite3.connect(path, timeout=5)) as database:
        database.execute("PRAGMA schema_version").fetchone()


def clean_name(name: str) -> str:
    """A name that MLflow takes: letters, digits and ``_-. /:``, at most 250."""
    return "".join(c if c.isalnum() or c in "_-. /:" else "_" for c in name)[:250]
