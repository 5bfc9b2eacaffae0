"""``python -m beeline``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from beeline.engine import warm_up

    # Worker processes import their modules while the settings are being read.
    if not {"-h", "--help", "--cfg", "-c", "--info", "--hydra-help", "--version"} & set(sys.argv[1:]):
        warm_up()
    from beeline.app import main

    sys.exit(main(sys.argv[1:]))
