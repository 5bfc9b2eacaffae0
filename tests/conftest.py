"""What every test stands on: data comes from the shared folder, caches go to a temporary one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.shared import ROOT


@pytest.fixture(scope="session", autouse=True)
def hermetic_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests off the user's cache and off the network.

    ``BEELINE_DATA`` always names a fresh folder, so nothing depends on HOME or on what an
    earlier run left there. ``BEELINE_DATA_MIRROR`` is set where it is not, even to a folder that
    is missing: a test that forgot to ask for shared data then fails with a sentence instead of
    downloading. Programs that a test starts inherit both.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEELINE_DATA", str(tmp_path_factory.mktemp("beeline-data")))
        # Not shared_folder(): it would skip whatever test happens to come first.
        shared = os.environ.get("BEELINE_SHARED", str(ROOT.parent / "shared"))
        if not os.environ.get("BEELINE_DATA_MIRROR"):
            patch.setenv("BEELINE_DATA_MIRROR", os.path.join(shared, "data"))
        yield
