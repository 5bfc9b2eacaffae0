"""A small invented data set with everything the real ones have, and a server that hands it out."""

from __future__ import annotations

import gzip
import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from domains.data import Content, Source
from domains.data_sources import data_rows, game_lines, pack_wikispeedia

FOLDER = "small-site"
FILES: dict[str, bytes] = {
    "links.tsv": b"# links\n\nAnt\tBee\nAnt\tCat\nBee\tAnt\nCat\tD%C3%A9er\n",
    "categories.tsv": b"# categories\nAnt\tsubject.Life.Insects\nCat\tsubject.Life.Mammals\n",
    "paths_finished.tsv": b"x\t0\t9\tBee;Ant;<;Ant;Cat\tNULL\nx\t0\t9\tAnt;<\tNULL\nx\t0\t3\tAnt;Bee\t2\n",
}


@dataclass(frozen=True)
class Member:
    """One entry of an archive that is not as it should be."""

    name: str
    data: bytes = b""
    link_to: str | None = None


def archive(files: Mapping[str, bytes] = FILES, extra: tuple[Member, ...] = ()) -> bytes:
    """A tar.gz with the files in their folder, beside files that nobody needs."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        members = [Member(f"{FOLDER}/{name}", data) for name, data in files.items()]
        for member in [Member(f"{FOLDER}/README", b"hello"), *members, *extra]:
            info = tarfile.TarInfo(member.name)
            info.size = len(member.data)
            if member.link_to is not None:
                info.type, info.linkname = tarfile.SYMTYPE, member.link_to
            tar.addfile(info, io.BytesIO(member.data))
    return out.getvalue()


def small_source(url: str, digest: str, max_bytes: int = 1 << 20) -> Source:
    """A source whose contents are pinned to FILES."""
    readers = {
        "links": ("links.tsv", data_rows),
        "categories": ("categories.tsv", data_rows),
        "games": ("paths_finished.tsv", game_lines),
    }
    text = {
        name: b"".join(line + b"\n" for line in lines(FILES[file])) for name, (file, lines) in readers.items()
    }
    return Source(
        name="small",
        url=url,
        sha256=digest,
        max_bytes=max_bytes,
        folder=FOLDER,
        contents={
            name: Content(file, sha256(text[name]).hexdigest(), lines)
            for name, (file, lines) in readers.items()
        },
        pack=pack_wikispeedia,
        packed_sha256=sha256(pack_wikispeedia(text)).hexdigest(),
        terms="Invented for tests.",
    )


def write_files(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """Lay the files out as a mirror holds them; returns the mirror."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / FOLDER / name).write_bytes(data)
    return folder


@dataclass
class Site:
    """What the server answers, and what it was asked."""

    url: str
    body: bytes = b""
    status: int = 200
    cut_at: int | None = None
    """Bytes after which the connection is closed."""
    pause_s: float = 0.0
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving(body: bytes) -> Iterator[Site]:
    """A server on loopback that answers every path alike, but moves on from /moved.tar.gz."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            threading.Event().wait(site.pause_s)
            if self.path == "/moved.tar.gz":
                self.send_response(302)
                self.send_header("Location", "/small.tar.gz")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(site.status)
            # A server that compresses on the way whenever it is allowed to.
            body = site.body
            if "gzip" in self.headers.get("Accept-Encoding", ""):
                body = gzip.compress(body)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: site.cut_at])

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Site(f"http://127.0.0.1:{server.server_address[1]}/small.tar.gz", body)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
