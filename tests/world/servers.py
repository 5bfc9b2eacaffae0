"""Start a server as a program, wait until it says where it listens, end it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.shared import ROOT


@contextmanager
def running(command: Sequence[str], **more: str) -> Iterator[str]:
    """Its address, ``http://127.0.0.1:PORT``, which it prints first; ``more`` goes into its environment."""
    process = subprocess.Popen(
        list(command),
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = ""
        for line in process.stdout:
            said += line
            found = re.search(r"http://[\w.]+:\d+", line)
            if found is not None:
                yield found[0]
                return
        raise AssertionError(f"{command} ended without an address: {said}")
    finally:
        process.terminate()
        process.communicate(timeout=20)


def serve(function: str, *options: str) -> list[str]:
    """Our server with a function of tests.world.served."""
    target = f"tests.world.served:{function}"
    return [sys.executable, "-m", "protocols.serve", target, "--port", "0", *options]
