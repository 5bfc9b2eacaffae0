"""Downloads: bytes from an address, files from an archive; both bounded, nothing on disk.

A download is held in memory until its digest was checked (the largest is some 10 MB), so a
failure has nothing to clean up. httpx honours the usual proxy variables and certificate
settings (``HTTPS_PROXY``, ``SSL_CERT_FILE``...).
"""

from __future__ import annotations

import io
import tarfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from beeline.errors import DataError

__all__ = ["Progress", "download", "unpack"]

Progress = Callable[[int, int | None], None]
"""Told of the bytes so far and of the expected total, None when the server does not say."""

CONNECT_S = 15.0
READ_S = 30.0
TOTAL_S = 900.0


def download(url: str, max_bytes: int, advice: str, progress: Progress | None = None) -> bytes:
    """The body at ``url``, following redirects.

    Raises DataError, ending in ``advice``, when the server cannot be reached, does not answer 200,
    breaks off, sends more than ``max_bytes``, or takes longer than TOTAL_S seconds.
    """
    import httpx  # 0.1 s to import: only where something is fetched

    body = bytearray()
    deadline = time.monotonic() + TOTAL_S
    timeout = httpx.Timeout(READ_S, connect=CONNECT_S)
    try:
        # The file as it lies on the server: a compressed answer would have another digest.
        headers = {"Accept-Encoding": "identity"}
        with httpx.stream("GET", url, follow_redirects=True, timeout=timeout, headers=headers) as response:
            if response.status_code != 200:
                raise DataError(f"{url} answered with status {response.status_code}: {advice}")
            length = response.headers.get("content-length", "")
            total = int(length) if length.isdecimal() else None
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > max_bytes:
                    raise DataError(f"{url} sends more than {max_bytes} bytes: {advice}")
                if time.monotonic() > deadline:
                    raise DataError(f"{url} was not here after {TOTAL_S:.0f} seconds: {advice}")
                if progress is not None:
                    progress(len(body), total)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise DataError(
            f"{url} could not be downloaded, {len(body)} bytes had come ({reason}): {advice}"
        ) from error
    return bytes(body)


def unpack(archive: bytes, names: Sequence[str], max_bytes: int, where: str) -> dict[str, bytes]:
    """The files called ``names`` in a tar.gz, whatever folder they lie in; nothing else is read out.

    Raises DataError, saying ``where`` the archive is from, when it is damaged, lacks a file or has
    it twice, has it as a link or larger than ``max_bytes``, or holds any path that leads
    outside of it.
    """
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise DataError(
                        f"the archive {where} holds an unsafe path {member.name!r}; do not use it"
                    )
                if path.name not in names or member.isdir():
                    continue
                if not member.isreg() or path.name in found or member.size > max_bytes:
                    raise DataError(
                        f"the archive {where} holds {member.name!r} as a link, twice, or larger than "
                        f"{max_bytes} bytes; do not use it"
                    )
                file = tar.extractfile(member)
                assert file is not None  # a regular file
                found[path.name] = file.read()
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise DataError(f"the archive {where} cannot be unpacked ({error}); get it again") from error
    for name in names:
        if name not in found:
            raise DataError(f"the archive {where} holds no {name}; do not use it")
    return {name: found[name] for name in names}
