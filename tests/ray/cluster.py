"""A Ray cluster of several nodes on this machine, in a process of its own: its nodes are killed by
process id, and nothing of Ray is imported by the tests themselves.

    python -m tests.ray.cluster FOLDER

Prints {"address": ..., "raylets": {name: pid}} and does so again after each line read: ``add NAME
[RESOURCE]`` starts a node with one CPU. The end of the input ends the cluster.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.commands import environment
from tests.shared import ROOT

VARIABLES = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class Nodes:
    """The cluster's process, as a context manager; ``more`` goes into its nodes' environment."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder = folder
        self._log = folder / "cluster.txt"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.ray.cluster", str(folder)],
                cwd=folder,
                env=environment(ROOT, **VARIABLES) | {"BEELINE_CACHE": str(folder / "cache")} | more,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.state: dict[str, Any] = {}
        self._read()

    @property
    def address(self) -> str:
        return str(self.state["address"])

    def raylet(self, name: str) -> int:
        return int(self.state["raylets"][name])

    def add(self, name: str, resource: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"add {name} {resource}\n")
        self.process.stdin.flush()
        self._read()

    def actors(self, kind: str, name: str) -> list[int]:
        """Process ids of the actors of a class on a node."""
        return [pid for pid in children(self.raylet(name)) if title(pid).startswith(f"ray::{kind}")]

    def kill(self, name: str) -> None:
        """End a node as when its machine loses power: all its processes at once."""
        raylet = self.raylet(name)
        for pid in (raylet, *children(raylet)):
            os.kill(pid, signal.SIGKILL)

    def _read(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self._log.read_text()
        self.state = json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode()
    except OSError:
        return ""


def children(parent: int) -> list[int]:
    """Ids of the processes that a process started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def main(folder: Path) -> None:
    # Ray notes the newest cluster of a machine in a shared folder: not this one.
    os.environ["RAY_TMPDIR"] = str(folder)
    (folder / "ray").mkdir()
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "node_name": "first",
            "temp_dir": str(folder / "t"),
            "include_dashboard": False,
            "object_store_memory": 100 * 2**20,
        },
    )
    nodes = {"first": made.head_node}
    real, sys.stdout = sys.stdout, sys.stderr

    def tell() -> None:
        raylets = {name: node.all_processes["raylet"][0].process.pid for name, node in nodes.items()}
        print(json.dumps({"address": made.address, "raylets": raylets}), file=real, flush=True)

    def add(name: str, *resource: str) -> None:
        nodes[name] = made.add_node(
            num_cpus=1,
            node_name=name,
            resources=dict.fromkeys(resource, 1),
            object_store_memory=100 * 2**20,
        )

    add("second", "second_gpu")
    tell()
    for line in sys.stdin:
        _, *words = line.split()
        add(*words)
        tell()
    made.shutdown()


if __name__ == "__main__":
    os.environ |= VARIABLES
    main(Path(sys.argv[1]))
