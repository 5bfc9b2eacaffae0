"""Fetch and check the data that domains need: ``python -m domains.download [NAME...]``.

Each data set is looked for where a run looks for it. What is there and official stays; what is
missing or damaged is downloaded, unless ``BEELINE_DATA_MIRROR`` names a folder to use in place
of the network: then that folder is only checked. Exit codes: 0 all is ready, 1 a data set could
not be had (the reason is the last line), 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from beeline.errors import DataError, SettingError
from domains.data import Source, contents, data_folder, fetch, is_here, mirror_folder, packed
from domains.data_fetch import Progress
from domains.data_sources import SOURCES, find_source

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None, known: Mapping[str, Source] = SOURCES) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m domains.download",
        description="Fetch and check the data that domains need.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="data sets:\n"
        + "".join(f"  {source.name:12} {source.terms}\n" for source in known.values())
        + "\nenvironment:\n"
        "  BEELINE_DATA         folder to keep data in (default: ~/.cache/beeline/data)\n"
        "  BEELINE_DATA_MIRROR  folder that holds the data, used in place of the network\n"
        "  HTTPS_PROXY, SSL_CERT_FILE and the like are honoured.\n",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a data set; all of them when none is named")
    options = parser.parse_args(arguments)
    try:
        sources = [find_source(name, known) for name in options.names or known]
        for source in sources:
            print(f"{source.name}: {_provide(source)}", flush=True)
    except SettingError as error:
        print(error, file=sys.stderr)
        return 2
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing incomplete was kept", file=sys.stderr)
        return 130
    return 0


def _provide(source: Source) -> str:
    """Make a data set ready, its packed form included; says what was done."""
    mirror = mirror_folder()
    if mirror is not None:
        outcome = f"official, in the mirror {mirror / source.folder}"
    elif is_here(source):
        outcome = f"already here, official, in {data_folder() / source.folder}"
    else:
        print(f"{source.name}: {source.url}\n  {source.terms}", flush=True)
        outcome = f"downloaded, official, to {fetch(source, _progress())}"
    contents(source)
    if source.pack is not None:
        packed(source)
    return outcome


def _progress() -> Progress | None:
    """A line that is rewritten while bytes come in; nothing where nobody watches a terminal."""
    if not sys.stderr.isatty():
        return None
    last = 0

    def show(done: int, total: int | None) -> None:
        nonlocal last
        if done - last < 100_000 and done != total:
            return
        last = done
        of = f" of {total / 1e6:.1f}" if total else ""
        end = "\n" if done == total else ""
        print(f"\r  {done / 1e6:.1f}{of} MB", end=end, file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
