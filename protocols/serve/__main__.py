"""``python -m protocols.serve my_module:decide``: serve a function until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence

from beeline.errors import SettingError
from protocols.serve.server import Server, is_loopback, listen, prepare
from protocols.serve.settings import ServeSettings

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit code: 0 stopped in order, 1 stopped by force, 2 cannot start."""
    options = _parser().parse_args(arguments)
    try:
        settings = ServeSettings(
            target=options.function,
            host=options.host,
            port=options.port,
            batch=options.batch,
            wait_s=options.wait,
            model=options.model,
            aliases=tuple(["jev-latest"] if options.alias is None else options.alias),
            key_variable=options.key_variable,
            queue=options.queue,
            max_options=options.max_options,
            max_body=options.max_body,
            digits=options.round,
        )
        function, key = prepare(settings)
        opened = listen(settings.host, settings.port)
    except SettingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    address, port = opened.getsockname()[:2]
    if not is_loopback(address):
        open_to_all = "" if key is not None else ", and no key is asked for (--key-variable)"
        print(f"warning: other machines can reach this server at {address}{open_to_all}", file=sys.stderr)
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host

    def ready() -> None:
        batches = "" if settings.batch is None else f", batches of up to {settings.batch}"
        print(
            f"serving {settings.target} as model {settings.name} at http://{shown}:{port}/v1{batches} "
            "(Ctrl-C stops)",
            flush=True,
        )

    server = Server(settings, function, key, ready)
    asyncio.run(server.serve([opened]))
    return 1 if server.force_exit else 0


def _parser() -> argparse.ArgumentParser:
    defaults = ServeSettings(target="m:f")
    parser = argparse.ArgumentParser(
        prog="python -m protocols.serve",
        description="Serve a Python function on the Jev protocol (System One).",
        epilog="The function takes one request body (a dict), with --batch a list of them, and returns for "
        "each a mapping from question id to weights, a list or a mapping by option; docs/serve.md.",
    )
    add = parser.add_argument
    add("function", metavar="MODULE:FUNCTION", help="what to serve, importable from here")
    add("--host", default=defaults.host, help="where to listen (default: loopback only)")
    add("--port", type=int, default=defaults.port, help=f"0 takes a free one (default: {defaults.port})")
    add("--batch", type=int, metavar="N", help="hand over lists of up to N bodies (default: one body)")
    add(
        "--wait",
        type=float,
        default=defaults.wait_s,
        metavar="S",
        help=f"seconds that a batch waits for more (default: {defaults.wait_s:g})",
    )
    add("--model", metavar="NAME", help="the model's name (default: MODULE:FUNCTION)")
    add(
        "--alias",
        action="append",
        metavar="NAME",
        help="another name that may be asked for, may be repeated (default: jev-latest)",
    )
    add("--key-variable", metavar="NAME", help="refuse requests without the key that this variable holds")
    add(
        "--queue",
        type=int,
        default=defaults.queue,
        metavar="N",
        help=f"requests that may wait or run; more get 529 (default: {defaults.queue})",
    )
    add("--max-options", type=int, default=defaults.max_options, metavar="N", help="(default: 255)")
    add(
        "--max-body",
        type=int,
        default=defaults.max_body,
        metavar="BYTES",
        help=f"larger requests get 413 (default: {defaults.max_body})",
    )
    add("--round", type=int, metavar="DIGITS", help="round every number (Jev: 2; default: not at all)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
