"""Functions that the tests place, and where each of their processes was."""

from __future__ import annotations

from pathlib import Path

FUNCTIONS = '''
import asyncio
import os
import zlib
from pathlib import Path

HERE = Path(__file__).parent


def note(question):
    """Which process was asked, and whose child it is."""
    with (HERE / "asked.txt").open("a") as file:
        file.write(f"{os.getpid()} {os.getppid()}\\n")


def weigh(question):
    note(question)
    if question.context == "fail":
        raise ValueError("the inside")
    return [zlib.crc32(repr((question.kind, option)).encode()) % 1000 + 1 for option in question.options]


async def wait(question):
    if question.context.startswith("together "):
        # Nobody is answered before all are here: serialised, nobody ever is.
        (HERE / f"here-{question.options[0]}").touch()
        while len(list(HERE.glob("here-*"))) < int(question.context.split()[1]):
            await asyncio.sleep(0.01)
    if question.context == "held" and not (HERE / "held").exists():
        (HERE / "held").touch()
        await asyncio.sleep(600)
    return weigh(question)
'''


def write(folder: Path) -> None:
    """The module ``chosen``."""
    folder.mkdir(exist_ok=True)
    (folder / "chosen.py").write_text(FUNCTIONS)


def asked(folder: Path) -> tuple[set[int], set[int]]:
    """The processes that were asked so far, and their parents."""
    lines = [line.split() for line in (folder / "asked.txt").read_text().splitlines()]
    return {int(pid) for pid, _ in lines}, {int(parent) for _, parent in lines}
