"""``python -m protocols.serve my_module:decide``: serve a function, or a placed model, until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from beeline.errors import BeelineError, SettingError
from beeline.model import Model
from beeline.ray_session import disconnect
from beeline.services import Services
from protocols.secrets import Secret
from protocols.serve.configured import answering, configured
from protocols.serve.functions import Function
from protocols.serve.server import Server, is_loopback, listen, prepare, read_server_key
from protocols.serve.settings import ServeSettings

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit code: 0 stopped in order, 1 stopped by force, 2 cannot start, 128 and
    the signal's number when it came before anything was served."""
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    try:
        if not any("=" in word for word in options.what):
            if len(options.what) > 1:
                parser.error(f"one function is served, not {len(options.what)}")
            settings = _settings(options, options.what[0])
            function, key = prepare(settings)
            return asyncio.run(_serve(settings, function, key))
        return _serve_model(options)
    except BeelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _serve_model(options: argparse.Namespace) -> int:
    """Serve what the settings in ``options.what`` describe, from where it is placed."""
    if options.batch is not None or options.wait is not None:
        raise SettingError("--batch and --wait are for functions: a model puts together itself what arrives")
    model, whole = configured(options.what)
    options.max_options = min(options.max_options, model.max_options)
    settings = _settings(options, model.name)
    key = read_server_key(settings)
    model.check()
    model.attach(Services(notice=_say))
    # Seen now, since loading takes long; listened to when there is somebody to answer.
    listen(settings.host, settings.port).close()
    told = _Told()
    try:
        return asyncio.run(_open_and_serve(model, settings, answering(model, whole), key, told))
    except asyncio.CancelledError:
        return 128 + told.number
    finally:
        disconnect()
        told.restore()


class _Told:
    """The signals that end us while a model is opened or closed. The first cancels what is being
    opened; closing takes seconds at most, and goes on whatever comes."""

    def __init__(self) -> None:
        self.number = 0
        self.opening: asyncio.Task[int] | None = None
        self._before = {n: signal.signal(n, self._tell) for n in (signal.SIGINT, signal.SIGTERM)}

    def _tell(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        if self.opening is not None:
            self.opening.get_loop().call_soon_threadsafe(self.opening.cancel)

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


async def _open_and_serve(
    model: Model, settings: ServeSettings, function: Function, key: Secret | None, told: _Told
) -> int:
    try:
        told.opening = asyncio.current_task()
        if told.number:
            raise asyncio.CancelledError
        await model.open()
        told.opening = None
        return await _serve(settings, function, key)
    finally:
        told.opening = None
        await model.close()


async def _serve(settings: ServeSettings, function: Function, key: Secret | None) -> int:
    opened = listen(settings.host, settings.port)
    address, port = opened.getsockname()[:2]
    if not is_loopback(address):
        open_to_all = "" if key is not None else ", and no key is asked for (--key-variable)"
        _say(f"warning: other machines can reach this server at {address}{open_to_all}")
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host

    def ready() -> None:
        batches = "" if settings.batch is None else f", batches of up to {settings.batch}"
        print(
            f"serving {settings.target} as model {settings.name} at http://{shown}:{port}/v1{batches} "
            "(Ctrl-C stops)",
            flush=True,
        )

    server = Server(settings, function, key, ready)
    await server.serve([opened])
    return 1 if server.force_exit else 0


def _say(text: str | None) -> None:
    if text is not None:
        print(text, file=sys.stderr, flush=True)


def _settings(options: argparse.Namespace, target: str) -> ServeSettings:
    return ServeSettings(
        target=target,
        host=options.host,
        port=options.port,
        batch=options.batch,
        wait_s=ServeSettings.wait_s if options.wait is None else options.wait,
        model=options.model,
        aliases=tuple(["jev-latest"] if options.alias is None else options.alias),
        key_variable=options.key_variable,
        queue=options.queue,
        max_options=options.max_options,
        max_body=options.max_body,
        digits=options.round,
    )


_EPILOG = """\
A function takes one request body (a dict), with --batch a list of them, and returns for
each a mapping from question id to weights, a list or a mapping by option.

A model is configured as for python -m beeline, with settings of model, engine and
plugins. Processes on nodes of Ray that have what it needs answer; engine.address
says which Ray (default: RAY_ADDRESS, else one of its own on this machine).

  python -m protocols.serve my_module:decide --port 8000
  python -m protocols.serve model=clef_flash model.backend=weights \\
      model.weights.folder=/models/clef-flash engine.address=auto \\
      'model.placement={num_gpus: 1, replicas: 2}'

More: docs/serve.md
"""


def _parser() -> argparse.ArgumentParser:
    defaults = ServeSettings(target="m:f")
    parser = argparse.ArgumentParser(
        prog="python -m protocols.serve",
        usage="%(prog)s [options] MODULE:FUNCTION | model=NAME [SETTING=VALUE ...]",
        description="Serve a Python function, or a model that is placed on nodes of Ray, on the Jev protocol "
        "(System One).",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "what",
        nargs="+",
        metavar="WHAT",
        help="MODULE:FUNCTION, importable from here, or settings of a model (see below)",
    )
    add("--host", default=defaults.host, help="where to listen (default: loopback only)")
    add("--port", type=int, default=defaults.port, help=f"0 takes a free one (default: {defaults.port})")
    add("--batch", type=int, metavar="N", help="hand over lists of up to N bodies (default: one body)")
    add(
        "--wait",
        type=float,
        metavar="S",
        help=f"seconds that a batch waits for more (default: {defaults.wait_s:g})",
    )
    add("--model", metavar="NAME", help="the model's name (default: MODULE:FUNCTION, or that in records)")
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
