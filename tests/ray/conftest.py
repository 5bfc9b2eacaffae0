"""One cluster of two nodes for all tests with a real Ray."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray.cluster import Nodes


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ray: starts a real Ray (left out with -m 'not ray')")


@pytest.fixture(scope="package")
def nodes() -> Iterator[Nodes]:
    # Not pytest's folder: Ray puts sockets below, and their paths must be short.
    folder = Path(tempfile.mkdtemp(prefix="bl-ray-", dir="/tmp"))
    try:
        with Nodes(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)
