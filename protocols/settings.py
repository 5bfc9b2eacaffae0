"""Settings of models are read as all settings are: see :mod:`beeline.settings`."""

from __future__ import annotations

from beeline.settings import read_settings, setting

__all__ = ["read_settings", "setting"]
