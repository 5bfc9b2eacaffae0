"""Where data lies, and how it is known to be the official one.

A data set is taken from the folder that ``BEELINE_DATA_MIRROR`` names, or else from the data
folder (``BEELINE_DATA``, else ``XDG_CACHE_HOME/beeline/data``, else ``~/.cache/beeline/data``),
which is filled by a download on first use. Both folders have the same layout, so a data folder
that was copied to another machine serves as a mirror there.

What is read is trusted only after the digests of its *contents* were compared with the pinned
ones: contents are the lines that a domain uses, in a fixed order, each ended by one newline.
Comments, line endings and columns that nobody reads therefore do not matter, and everything
else does.

The *packed* form of a data set (see :mod:`domains.data_pack`) is kept beside it for a quick
start. Its name holds the digest of the files it was made of and its bytes must have the pinned
digest, so a changed mirror is noticed, and a torn or altered packed file is made again.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from beeline.errors import DataError
from domains.data_fetch import Progress, download, unpack

__all__ = [
    "Content",
    "Source",
    "contents",
    "data_folder",
    "data_place",
    "fetch",
    "is_here",
    "mirror_folder",
    "packed",
    "write_atomically",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Content:
    """One part of a data set that is compared by itself."""

    file: str
    """The file that it is read from."""
    sha256: str
    """Digest of its lines, each ended by one newline."""
    lines: Callable[[bytes], list[bytes]]
    """Takes the file apart; never fails, however altered the file is."""


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: where it comes from and how it is checked."""

    name: str
    url: str
    sha256: str
    """Digest of the downloaded file."""
    max_bytes: int
    """No download, and no file unpacked from one, is larger."""
    folder: str
    """Folder below the data folder or mirror; empty for none."""
    contents: Mapping[str, Content]
    pack: Callable[[Mapping[str, bytes]], bytes] | None
    """Makes the packed form of checked contents; None where the contents are as quick to read."""
    packed_sha256: str
    terms: str
    """Where the data comes from and what its terms are, in one sentence."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are needed, each once."""
        return tuple(dict.fromkeys(content.file for content in self.contents.values()))


def mirror_folder() -> Path | None:
    """The folder used in place of the network, if one is named."""
    named = os.environ.get("BEELINE_DATA_MIRROR")
    return Path(os.path.expanduser(named)) if named else None


def data_folder() -> Path:
    """Where downloads and packed forms are kept; need not exist yet.

    Raises DataError when no environment variable names it and there is no home folder.
    """
    named = os.environ.get("BEELINE_DATA")
    if named:
        return Path(os.path.expanduser(named))
    cache = os.environ.get("XDG_CACHE_HOME")
    if cache and os.path.isabs(cache):  # the XDG rules say to ignore a relative one
        return Path(cache, "beeline", "data")
    try:
        return Path.home() / ".cache" / "beeline" / "data"
    except RuntimeError as error:
        raise DataError(
            "there is no home folder to keep data in; set BEELINE_DATA to a folder for it"
        ) from error


def data_place() -> str:
    """What the data depends on in this process, as a key for caches in memory."""
    mirror = mirror_folder()
    return f"mirror {mirror}" if mirror is not None else f"folder {data_folder()}"


def contents(source: Source) -> dict[str, bytes]:
    """The checked contents of a data set by name; downloads them when they are not here.

    Raises DataError naming the file that is missing or differs, or why no download succeeded.
    """
    return _obtain(source, lambda files, place: _checked(source, files, place))


def packed(source: Source) -> bytes:
    """The packed form of a data set, from the cache where that is intact.

    Raises DataError as :func:`contents` does. A cache that cannot be written is no error.
    """
    return _obtain(source, lambda files, place: _packed(source, files, place))


def is_here(source: Source) -> bool:
    """Whether the data folder holds the official files of a data set; downloads nothing."""
    folder = data_folder() / source.folder
    try:
        _checked(source, _read(source, folder), folder)
    except DataError:
        return False
    return True


def fetch(source: Source, progress: Progress | None = None) -> Path:
    """Download a data set into the data folder, whatever is there; returns its folder.

    Nothing is written before the digests of the download and of its contents are right, and each
    file appears complete or not at all. Raises DataError saying what went wrong and what to type.
    """
    folder = data_folder() / source.folder
    advice = (
        f"type `python -m domains.download {source.name}` to try again, "
        "or set BEELINE_DATA_MIRROR to a folder that holds the data"
    )
    data = download(source.url, source.max_bytes, advice, progress)
    found = sha256(data).hexdigest()
    if found != source.sha256:
        raise DataError(
            f"{source.url} is not the official file (sha256 {found}, expected {source.sha256}); "
            f"nothing was kept: {advice}"
        )
    if source.url.endswith(".tar.gz"):
        files = unpack(data, source.files, source.max_bytes, source.url)
    else:
        files = {source.files[0]: data}
    _checked(source, files, source.url)
    try:
        for name, content in files.items():
            write_atomically(folder / name, content)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def _obtain(source: Source, use: Callable[[dict[str, bytes], Path], T]) -> T:
    """``use(files, folder)`` for the mirror's files or our own; ``use`` raises DataError when they
    are not official. An own copy that is missing or damaged is downloaded."""
    mirror = mirror_folder()
    if mirror is not None:
        if not os.path.isdir(mirror):
            raise DataError(
                f"BEELINE_DATA_MIRROR names {mirror}, which is not a folder; "
                "correct it, or unset it to download the data"
            )
        folder = mirror / source.folder
        return use(_read(source, folder), folder)
    folder = data_folder() / source.folder
    with suppress(DataError):
        return use(_read(source, folder), folder)
    with _one_at_a_time(data_folder()):
        with suppress(DataError):  # another process may have fetched it while this one waited
            return use(_read(source, folder), folder)
        print(f"downloading {source.name} data from {source.url} to {folder}", file=sys.stderr, flush=True)
        fetch(source)
        return use(_read(source, folder), folder)


def _read(source: Source, folder: Path) -> dict[str, bytes]:
    files = {}
    for name in source.files:
        path = folder / name
        try:
            files[name] = path.read_bytes()
        except OSError as error:
            raise DataError(
                f"{source.name} data needs {path}, which cannot be read ({error.strerror or error}); "
                "put the official file there, or unset BEELINE_DATA_MIRROR and type "
                f"`python -m domains.download {source.name}`"
            ) from error
    return files


def _packed(source: Source, files: Mapping[str, bytes], place: Path) -> bytes:
    assert source.pack is not None, f"{source.name} has no packed form"
    # Reading and hashing 5 MB takes 6 ms, taking it apart 190 ms: hash it each time.
    key = sha256()
    for name, data in files.items():
        key.update(f"{name} {len(data)}\n".encode())
        key.update(data)
    cache: Path | None = None
    with suppress(DataError):  # a mirror serves where there is no home folder either
        cache = data_folder() / "packed" / f"{source.name}-{key.hexdigest()[:32]}.bin"
    if cache is not None:
        with suppress(OSError):
            data = cache.read_bytes()
            if sha256(data).hexdigest() == source.packed_sha256:
                return data
    data = source.pack(_checked(source, files, place))
    found = sha256(data).hexdigest()
    if found != source.packed_sha256:
        raise RuntimeError(f"{source.name}: packed bytes have sha256 {found}, not the pinned one")
    if cache is not None:
        with suppress(OSError):
            write_atomically(cache, data)
    return data


def _checked(source: Source, files: Mapping[str, bytes], place: Path | str) -> dict[str, bytes]:
    """The contents of ``files`` by name, every one of them official."""
    result = {}
    for name, content in source.contents.items():
        result[name] = b"".join(line + b"\n" for line in content.lines(files[content.file]))
        found = sha256(result[name]).hexdigest()
        if found != content.sha256:
            raise DataError(
                f"{content.file} in {place} is not the official data: its {name} differ "
                f"(sha256 {found}, expected {content.sha256}); "
                "replace it by an unaltered copy of the official file"
            )
    return result


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that others see it complete or not at all; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files can be read by their owner alone, and a data folder may be shared.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process download while the others wait; without a lock they merely all do."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "ab")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise _unwritable(folder, error) from error
    with lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        except (ImportError, OSError):  # Windows; a network file system without locks
            pass
        yield


def _unwritable(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"data cannot be written to {folder} ({error.strerror or error}); "
        "set BEELINE_DATA to a folder that can be written"
    )
