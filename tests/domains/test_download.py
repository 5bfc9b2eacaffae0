from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from beeline.errors import DataError
from domains.data import contents, fetch, packed
from domains.data_fetch import unpack
from domains.download import main
from tests.domains.invented_data import (
    FILES,
    FOLDER,
    Member,
    Site,
    archive,
    serving,
    small_source,
    write_files,
)
from tests.shared import ROOT, shared_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, no mirror, and no proxy in the way of loopback."""
    monkeypatch.delenv("BEELINE_DATA_MIRROR", raising=False)
    monkeypatch.setenv("BEELINE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "data"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(archive()) as site:
        yield site


def files_in(folder: Path) -> list[str]:
    """Every file below a folder but the lock, relative to it."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name != ".lock")


EXPECTED_FILES = sorted(f"{FOLDER}/{name}" for name in FILES)


def official(site: Site) -> str:
    return sha256(site.body).hexdigest()


def test_fetch_keeps_the_needed_files_and_nothing_else(folder: Path, site: Site) -> None:
    progress: list[tuple[int, int | None]] = []
    source = small_source(site.url, official(site))
    assert fetch(source, lambda done, total: progress.append((done, total))) == folder / FOLDER
    assert files_in(folder) == EXPECTED_FILES
    assert {name: (folder / FOLDER / name).read_bytes() for name in FILES} == FILES
    assert progress[-1] == (len(site.body), len(site.body))


def test_first_use_downloads_once(folder: Path, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    source = small_source(site.url, official(site))
    assert contents(source)["games"] == b"Ant\tBee\nBee\tCat\n"
    assert capsys.readouterr().err == f"downloading small data from {site.url} to {folder / FOLDER}\n"
    contents(source)
    packed(source)
    packed(source)
    assert len(site.asked) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("damage", ["missing", "cut", "altered"])
def test_own_damaged_copy_is_fetched_again(folder: Path, site: Site, damage: str) -> None:
    source = small_source(site.url, official(site))
    fetch(source)
    path = folder / FOLDER / "links.tsv"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9] if damage == "cut" else path.read_bytes() + b"Cat\tBee\n")
    assert contents(source)["links"].endswith(b"Cat\tD%C3%A9er\n")
    assert path.read_bytes() == FILES["links.tsv"]
    assert len(site.asked) == 2


def test_redirects_are_followed(folder: Path, site: Site) -> None:
    fetch(small_source(site.url.replace("small.tar.gz", "moved.tar.gz"), official(site)))
    assert site.asked == ["/moved.tar.gz", "/small.tar.gz"]


def test_wrong_digest_leaves_nothing(folder: Path, site: Site) -> None:
    source = small_source(site.url, "0" * 64)
    with pytest.raises(DataError) as error:
        contents(source)
    assert official(site) in str(error.value)
    assert "0" * 64 in str(error.value)
    assert "python -m domains.download small" in str(error.value)
    assert files_in(folder) == []


def test_altered_content_in_an_archive_with_the_right_digest(folder: Path, site: Site) -> None:
    site.body = archive(FILES | {"categories.tsv": b"Ant\tsubject.Life\n"})
    with pytest.raises(
        DataError, match=r"categories\.tsv in http.* is not the official data: its categories"
    ):
        fetch(small_source(site.url, official(site)))
    assert files_in(folder) == []


def test_truncated_body(folder: Path, site: Site) -> None:
    site.cut_at = 40
    with pytest.raises(DataError, match=r"could not be downloaded, \d+ bytes had come .*python -m domains"):
        fetch(small_source(site.url, official(site)))
    assert files_in(folder) == []


def test_status_404(folder: Path, site: Site) -> None:
    site.status = 404
    with pytest.raises(DataError, match=r"answered with status 404.*BEELINE_DATA_MIRROR"):
        fetch(small_source(site.url, official(site)))
    assert files_in(folder) == []


def test_too_large(folder: Path, site: Site) -> None:
    with pytest.raises(DataError, match="sends more than 100 bytes"):
        fetch(small_source(site.url, official(site), max_bytes=100))
    assert files_in(folder) == []


def test_connection_refused(folder: Path) -> None:
    with serving(b"") as gone:
        url = gone.url
    with pytest.raises(DataError, match=r"could not be downloaded.*type `python -m domains\.download small`"):
        contents(small_source(url, "0" * 64))
    assert files_in(folder) == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x.tar.gz", "http://[::1/x.tar.gz", "/nowhere"])
def test_address_that_is_none(folder: Path, url: str) -> None:
    with pytest.raises(DataError, match="could not be downloaded"):
        fetch(small_source(url, "0" * 64))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (Member("../links.tsv", b"x"), r"unsafe path '\.\./links\.tsv'"),
        (Member("small-site/../../other", b"x"), "unsafe path"),
        (Member("/etc/other", b"x"), "unsafe path"),
        (Member("more/links.tsv", b"x"), "twice"),
        (Member("more/links.tsv", link_to="/etc/hostname"), "as a link"),
    ],
    ids=["parent", "inner-parent", "absolute", "twice", "link"],
)
def test_unsafe_archives_are_refused(folder: Path, site: Site, extra: Member, message: str) -> None:
    site.body = archive(extra=(extra,))
    with pytest.raises(DataError, match=message):
        fetch(small_source(site.url, official(site)))
    assert not folder.exists()
    assert not (folder.parent / "links.tsv").exists()


def test_link_in_place_of_a_file() -> None:
    body = archive({"links.tsv": b""}, (Member("games.tsv", link_to="links.tsv"),))
    with pytest.raises(DataError, match=r"'games\.tsv' as a link"):
        unpack(body, ["games.tsv"], 1000, "here")


def test_other_damage_to_an_archive() -> None:
    with pytest.raises(DataError, match=r"holds no other\.tsv"):
        unpack(archive(), ["links.tsv", "other.tsv"], 1000, "here")
    with pytest.raises(DataError, match="larger than 10 bytes"):
        unpack(archive(), ["links.tsv"], 10, "here")
    whole = archive()
    for body in (b"", b"not an archive", whole[: len(whole) // 2], whole[:40] + b"?" * 20 + whole[60:]):
        with pytest.raises(DataError, match=r"cannot be unpacked|holds no"):
            unpack(body, ["links.tsv"], 10_000, "here")


def test_folder_that_cannot_be_written(folder: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file in the way stops everybody; permissions would not stop root.
    folder.write_text("in the way")
    source = small_source(site.url, official(site))
    for attempt in (contents, fetch):
        with pytest.raises(DataError, match=r"cannot be written to .*set BEELINE_DATA"):
            attempt(source)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(folder: Path, site: Site) -> None:
    folder.mkdir()
    folder.chmod(0o500)
    with pytest.raises(DataError, match=r"cannot be written to .*set BEELINE_DATA"):
        contents(small_source(site.url, official(site)))
    folder.chmod(0o700)


PROCESS = """
import sys
from domains.data import contents, packed
from tests.domains.invented_data import small_source
source = small_source(*sys.argv[1:])
contents(source), packed(source)
"""


def test_many_processes_at_first_use_download_once(folder: Path, site: Site) -> None:
    pytest.importorskip("fcntl", reason="without locks each process downloads for itself")
    site.pause_s = 0.3
    command = [sys.executable, "-c", PROCESS, site.url, official(site)]
    processes = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    assert len(site.asked) == 1
    kept = files_in(folder)
    assert [name for name in kept if not name.startswith("packed/")] == EXPECTED_FILES
    assert len(kept) == len(EXPECTED_FILES) + 1


# The command


def test_command_downloads_then_finds_it(
    folder: Path, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"small": small_source(site.url, official(site))}
    assert main([], known) == 0
    assert f"downloaded, official, to {folder / FOLDER}" in capsys.readouterr().out
    assert len(files_in(folder)) == len(EXPECTED_FILES) + 1  # the packed form too
    assert main(["small"], known) == 0
    assert "already here, official" in capsys.readouterr().out
    assert len(site.asked) == 1


def test_command_says_why_not(folder: Path, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.status = 503
    assert main([], {"small": small_source(site.url, official(site))}) == 1
    assert "answered with status 503" in capsys.readouterr().err


def test_command_takes_the_mirror(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = write_files(tmp_path / "mirror")
    monkeypatch.setenv("BEELINE_DATA_MIRROR", str(mirror))
    known = {"small": small_source("http://127.0.0.1:9/x.tar.gz", "0" * 64)}
    assert main([], known) == 0
    assert f"official, in the mirror {mirror / FOLDER}" in capsys.readouterr().out
    (mirror / FOLDER / "links.tsv").write_bytes(b"Ant\tBee\n")
    assert main([], known) == 1
    assert "links.tsv" in capsys.readouterr().err


def test_command_interrupted(folder: Path, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(data: bytes) -> list[bytes]:
        raise KeyboardInterrupt

    source = small_source(site.url, official(site))
    object.__setattr__(source.contents["games"], "lines", stop)
    assert main([], {"small": source}) == 130
    assert files_in(folder) == []
    assert "interrupted" in capsys.readouterr().err


def test_command_names_the_nearest_data_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wikispedia"]) == 2
    assert "did you mean wikispeedia?" in capsys.readouterr().err


def test_command_from_a_shell_checks_the_official_data() -> None:
    environment = os.environ | {"BEELINE_DATA_MIRROR": str(shared_folder("data"))}
    command = [sys.executable, "-m", "domains.download"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["words", "wikispeedia"]
    help_ = subprocess.run([*command, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert help_.returncode == 0
    assert "BEELINE_DATA_MIRROR" in help_.stdout
