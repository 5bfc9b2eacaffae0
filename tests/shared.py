"""Where the shared data for tests lies, or the reason to skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_folder(*parts: str) -> Path:
    """A path inside the shared folder (``BEELINE_SHARED``, default ``../shared``); skips the
    calling test when it is not there."""
    base = Path(os.environ.get("BEELINE_SHARED", ROOT.parent / "shared"))
    path = base.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data not found: {path} (set BEELINE_SHARED to its parent folder)")
    return path
