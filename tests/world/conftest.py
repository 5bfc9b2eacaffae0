"""The group: marked ``world``, and one environment a lock file for the whole session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.world.environments import IndexUnreachable, environment

# Programs for other environments; their imports are not there in ours.
collect_ignore = ["mocks.py", "clef_tiny.py"]
collect_ignore_glob = ["clients/*", "clef_path/*"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "world: against packages of other people, from the ordinary index")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("world")


@pytest.fixture(scope="session")
def python_of() -> Callable[[str], Path]:
    """The interpreter of an environment by the name of its lock; skips when there is no index."""
    missing: dict[str, str] = {}

    def python(name: str) -> Path:
        if name not in missing:
            try:
                return environment(name)
            except IndexUnreachable as error:
                missing[name] = str(error)  # asked once, not for every test
        pytest.skip(missing[name])

    return python
