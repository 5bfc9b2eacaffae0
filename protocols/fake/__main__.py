"""``python -m protocols.fake``: run the test server until interrupted."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from itertools import groupby

from beeline.errors import BeelineError
from protocols.fake.faults import FAULTS
from protocols.fake.plan import WHEN
from protocols.fake.routes import ROUTES
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
            seed=options.seed,
            rpm=options.rpm,
            tpm=options.tpm,
            concurrency_limit=options.concurrency_limit,
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
    parser = argparse.ArgumentParser(
        prog="python -m protocols.fake",
        description="A test server for every protocol that models are asked in. Without faults its answers\n"
        "conform, and its probabilities depend only on the option texts. Paths:\n"
        + "\n".join(f"  {path}" for path in ROUTES),
        epilog=_faults(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: loopback only)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="may be repeated")
    parser.add_argument("--latency-ms", type=float, default=0.0, metavar="N", help="wait before each reply")
    parser.add_argument("--key", help="refuse requests without this key")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the draws of faults (default: 0)"
    )
    parser.add_argument("--rpm", type=float, metavar="N", help="429 with a hint above N requests a minute")
    parser.add_argument("--tpm", type=float, metavar="N", help="429 with a hint above N tokens a minute")
    parser.add_argument(
        "--concurrency-limit", type=int, metavar="N", help="429 with a hint above N requests in flight"
    )
    return parser


def _faults() -> str:
    width = max(len(fault.usage) for fault in FAULTS.values())
    lines = [f"faults ({WHEN}):"]
    for title, faults in groupby(FAULTS.values(), key=lambda fault: fault.group):
        lines += ["", f"{title}:"]
        lines += [f"  {fault.usage:{width}}  {fault.help}" for fault in faults]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
