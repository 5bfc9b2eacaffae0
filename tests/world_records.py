"""A record of a world, as tests that need no family write it."""

from __future__ import annotations

from typing import Any

__all__ = ["world_line"]


def world_line(domain: str, trial: int = 1, interface: str = "direct", **oracle: Any) -> dict[str, Any]:
    """The fields of a line that the oracle solves; ``oracle`` replaces fields of its arm."""
    return {
        "schema": 1,
        "version": "1.0.0",
        "definition": "d",
        "spec": "s",
        "suite": "worlds",
        "domain": domain,
        "heuristic": "reference",
        "model": "none",
        "model_id": None,
        "study": "baseline",
        "condition": "benchmark",
        "trial": trial,
        "repeat": 1,
        "world": f"worlds/{domain}/L1/instance-1/{interface}",
        "arms": {
            "oracle": {
                "outcome": "optimal",
                "feasible": True,
                "exact": True,
                "objective": 1,
                "optimum": 1,
                "utility": 100.0,
                "sufficient": True,
                "coverage": 1.0,
                "calls": 1,
                "spend": 2,
                "budget": 3,
            }
            | oracle
        },
        "started_utc": "",
        "finished_utc": "",
        "code": "",
    }
