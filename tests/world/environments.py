"""Virtual environments for packages of other people: ``python -m tests.world.environments [NAME...]``.

``requirements/world/NAME.txt`` locks versions and hashes, without addresses: pip takes them from
whatever index it is set up for. The environment lies in ``.world/NAME`` (``BEELINE_WORLD`` names
another folder) and is made anew only when its lock or the Python version has changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements" / "world"

#: What pip says when nobody answers, whatever the language of the package.
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|NameResolution|Temporary failure in name resolution|"
    r"Connection refused|Network is unreachable|No route to host|ProxyError|RemoteDisconnected"
)

#: Installed besides the lock, in this order, without dependencies; see clef.in.
EXTRA = {"clef": ["torch==2.13.0+cpu", "torchvision==0.28.0"]}


class IndexUnreachable(Exception):
    """The packages cannot be had here, through no fault of theirs or ours."""


def environment(name: str) -> Path:
    """The interpreter of the environment ``name``, made if need be.

    Raises IndexUnreachable when pip reaches no index, or the index lacks an extra of ours;
    RuntimeError with pip's words for any other failure.
    """
    folder = Path(os.environ.get("BEELINE_WORLD") or ROOT / ".world") / name
    lock = LOCKS / f"{name}.txt"
    extra = EXTRA.get(name, [])
    wanted = hashlib.sha256(repr((sys.version, lock.read_bytes(), extra)).encode()).hexdigest()
    stamp, python = folder / "made-from", folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    (folder.parent / ".gitignore").write_text("*\n")
    # Test files run side by side: who comes second waits and finds it made.
    with (folder.parent / f"{name}.lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not (stamp.is_file() and stamp.read_text() == wanted):
            _make(name, folder, lock, extra)
            stamp.write_text(wanted)  # last: a torn environment is made anew
    return python


def _make(name: str, folder: Path, lock: Path, extra: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)], name)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--retries", "1", "--no-deps"]
    for package in extra:  # first: the likeliest to be missing
        try:
            _run([*pip, package], name)
        except RuntimeError as error:
            if "No matching distribution" not in str(error):
                raise
            raise IndexUnreachable(f"pip finds no {package} here, which {name} needs") from None
    _run([*pip, "--require-hashes", "--requirement", str(lock)], name)


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return
    said = done.stdout + done.stderr
    if _UNREACHABLE.search(said):
        raise IndexUnreachable(f"no package index answers, so the environment {name} cannot be made")
    raise RuntimeError(f"making the environment {name} failed: {said[-2000:]}")


def main(names: list[str]) -> int:
    """Make the named environments, or all; the exit code is 1 when one cannot be made."""
    code = 0
    for name in names or sorted(lock.stem for lock in LOCKS.glob("*.txt") if lock.stem != "overrides"):
        started = time.monotonic()
        try:
            print(f"{name}: {environment(name)} ({time.monotonic() - started:.0f} s)", flush=True)
        except (IndexUnreachable, RuntimeError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
