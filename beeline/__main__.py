"""``python -m beeline``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def _stopped_early(number: int, frame: Any) -> None:
    """Until a run begins there is nothing to end in order, and Hydra does not expect an end."""
    os.write(2, b"interrupted before anything ran\n")
    os._exit(128 + number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stopped_early)
    from beeline.engine import warm_up

    # Worker processes import their modules while the settings are being read.
    if not {"-h", "--help", "--cfg", "-c", "--info", "--hydra-help", "--version"} & set(sys.argv[1:]):
        warm_up()
    from beeline.app import main

    sys.exit(main(sys.argv[1:]))
