"""``python -m protocols.fake``: run the test server until interrupted."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import signal
import sys
from collections.abc import Sequence

from beeline.errors import BeelineError
from protocols.fake.faults import FAULTS
from protocols.fake.server import FakeServer

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit code: 0 stopped, 1 cannot listen, 2 bad usage."""
    options = _parser().parse_args(arguments)
    try:
        server = FakeServer(
            *options.fault,
            latency_ms=options.latency_ms,
            key=options.key,
            host=options.host,
            port=options.port,
        )
    except BeelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return asyncio.run(_serve(server, options.fault))


async def _serve(server: FakeServer, faults: Sequence[str]) -> int:
    serving = asyncio.create_task(server.serve())
    await asyncio.to_thread(server.wait_ready)
    if server.error is not None:
        await serving
        print(f"error: cannot listen at {server.base_url}: {server.error.strerror}", file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    print(f"fake server at {server.base_url} (faults: {', '.join(faults) or 'none'})", flush=True)
    await serving
    return 0


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, FAULTS))
    table = "\n".join(f"  {name:{width}}  {_first_line(fault)}" for name, fault in FAULTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m protocols.fake",
        description="A test server for the Jev protocol. Without faults its answers conform, and its\n"
        "probabilities depend only on the option texts.",
        epilog="faults (NAME: always, NAME:0.1: that share of requests, NAME@3: the first three):\n" + table,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: loopback only)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="may be repeated")
    parser.add_argument("--latency-ms", type=float, default=0.0, metavar="N", help="wait before each reply")
    parser.add_argument("--key", help="refuse requests without this key")
    return parser


def _first_line(function: object) -> str:
    return (inspect.getdoc(function) or "").splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
