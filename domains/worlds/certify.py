"""Certify the families of worlds and write their manifests.

    python -m domains.worlds.certify              # all families
    python -m domains.worlds.certify FAMILY...    # some
    python -m domains.worlds.certify --check      # write nothing; exit code 1 if a manifest differs
    python -m domains.worlds.certify --edition 2  # instances of another edition (nothing is written)

Each of the 12 hidden instances of a family is drawn, solved and verified, its worlds are checked
(:mod:`beeline.world_certify`), and ``manifest.json`` in the family's package is written. The digest shown
at the end is what a version names.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from beeline.digest import differences, digest_of
from beeline.errors import BeelineError, StorageError
from beeline.world import INDEXES, LEVELS
from beeline.world_certify import Certified, certify, make_manifest
from domains.worlds.families import family_class, family_names

__all__ = ["main", "manifest_path"]


def manifest_path(family: str) -> Path:
    """Where a family's manifest lies."""
    return Path(__file__).with_name(family) / "manifest.json"


def certify_one(task: tuple[str, int, str, int]) -> tuple[Certified, int]:
    """Certify (family, edition, level, index); also the process's peak memory so far, in MiB."""
    family, edition, level, index = task
    domain = family_class(family)("reference", {"edition": edition, "manifest": ""})
    made = certify(domain, level, index)
    return made, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m domains.worlds.certify", description=__doc__.split("\n")[0]
    )
    parser.add_argument("family", nargs="*", help="families to certify (default: all)")
    parser.add_argument("--check", action="store_true", help="compare with the manifests, write nothing")
    parser.add_argument("--edition", type=int, default=1, help="edition of the instances (default: 1)")
    options = parser.parse_args(arguments)
    try:
        families = options.family or family_names()
        for family in families:
            family_class(family)
        return _certify_all(families, options.edition, options.check)
    except BeelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _certify_all(families: Sequence[str], edition: int, check: bool) -> int:
    # The heaviest first, so that no core waits at the end.
    tasks = [(f, edition, level, i) for level in reversed(LEVELS) for f in families for i in INDEXES]
    started = time.perf_counter()
    # Spawned, not forked: what is certified must not depend on what this process has imported.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        entries: dict[str, dict[str, Any]] = {family: {} for family in families}
        for task, (made, peak) in zip(tasks, pool.map(certify_one, tasks), strict=True):
            family, _, level, index = task
            entry = entries[family][f"{level}/{index}"] = made.entry
            print(
                f"{family} {level}/{index}: optimum {entry['optimum']}, reference {entry['reference']}, "
                f"work {entry['work']['total']}, attempt {entry['attempt']}, {entry['facts']} facts, "
                f"solved in {made.solve_s:.2f} s, verified in {made.verify_s:.2f} s, peak {peak} MiB",
                flush=True,
            )
    changed = False
    for family in families:
        domain = family_class(family)("reference", {"edition": edition, "manifest": ""})
        manifest = make_manifest(domain, entries[family])
        changed |= _settle(family, manifest, write=not check and edition == 1)
    print(f"{len(tasks)} hidden instances in {time.perf_counter() - started:.0f} s")
    return 1 if check and changed else 0


def _settle(family: str, manifest: dict[str, Any], write: bool) -> bool:
    """Compare with the stored manifest and write; whether they differ."""
    path = manifest_path(family)
    stored = _stored(path)
    changed = list(differences(stored, manifest))
    verb = "unchanged" if not changed else "written" if write else "differs" if stored else "not stored"
    print(f"{family}: manifest {digest_of(manifest)} ({verb})")
    for line in changed[:20] if stored else ():
        print(f"  {line}")
    if changed and write:
        text = json.dumps(manifest, indent=1) + "\n"
        temporary = path.with_suffix(".tmp")
        try:
            temporary.write_text(text, "utf-8")
            os.replace(temporary, path)
        except OSError as error:
            raise StorageError(f"{path} cannot be written ({error}): make its folder writable") from error
    return bool(changed)


def _stored(path: Path) -> Any:
    """The manifest as stored; None without one, a remark where the file is no JSON (torn)."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error}): restore the file") from error
    try:
        return json.loads(text)
    except ValueError:
        return f"(no JSON in {len(text)} characters)"


if __name__ == "__main__":
    sys.exit(main())
