"""The ledger: exact sums, caps that hold, and processes that race, fork and die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.errors import SettingError, SpendError, StorageError
from beeline.ledger import FILE, Ledger
from beeline.services import Estimate, Meter
from beeline.spend_caps import PICO, Caps, dollars, picodollars, tokens, unheld
from beeline.spend_owner import Owner, state_of, this_process
from beeline.spend_report import ALL, Spent, read_spending
from beeline.spend_store import connect, network_filesystem
from tests.shared import ROOT

TEN = Estimate(10, 1, 0.001)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / FILE


def only(path: Path) -> Spent:
    (spent,) = read_spending(path).models
    return spent


def test_an_account_is_a_meter(path: Path) -> None:
    with Ledger(path) as ledger:
        meter: Meter = ledger.account("jev")
        meter.settle(meter.begin(TEN), Estimate(12, 1, 0.002))
    assert only(path) == Spent("jev", requests=1, input_exact=12, output_exact=1, usd_exact=2 * PICO // 1000)


def test_what_the_host_does_not_say_stays_as_reserved_and_estimated(path: Path) -> None:
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        jev.settle(jev.begin(TEN), Estimate(12, None, None))
        jev.unknown(jev.begin(TEN))
    assert only(path) == Spent(
        "jev",
        requests=2,
        unanswered=1,
        input_exact=12,
        input_estimated=10,
        output_estimated=2,
        usd_estimated=2 * PICO // 1000,
    )


def test_what_nobody_knows_is_counted_as_unknown(path: Path) -> None:
    with Ledger(path) as ledger:
        local = ledger.account("local")
        local.settle(local.begin(Estimate(10)), Estimate(11, 1))
        local.settle(local.begin(Estimate()), Estimate())
    assert only(path) == Spent(
        "local", requests=2, input_exact=11, output_exact=1, unknown_cost=2, unknown_input=1, unknown_output=1
    )


def test_a_rejected_request_is_a_request_and_nothing_else(path: Path) -> None:
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        jev.reject(jev.begin(TEN))
        jev.reject(jev.begin(Estimate()))
    assert only(path) == Spent("jev", requests=2, rejected=2)


def test_a_request_is_closed_once(path: Path) -> None:
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        ticket = jev.begin(TEN)
        jev.settle(ticket, TEN)
        with pytest.raises(ValueError, match="closed once"):
            jev.reject(ticket)
    assert only(path).rejected == 0


def test_money_is_exact(path: Path) -> None:
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        for _ in range(1000):
            jev.settle(jev.begin(Estimate(1, 0, 0.1)), Estimate(1, 0, 0.1))
            jev.settle(jev.begin(Estimate(1, 0, 0.0)), Estimate(1, 0, 142 * 0.042 / 1e6))
    assert only(path).usd_exact == 100 * PICO + 1000 * 142 * 42_000


@pytest.mark.parametrize("absurd", [float("nan"), float("inf"), -1.0, 1e300])
def test_an_absurd_price_of_a_host_is_no_price(path: Path, absurd: float) -> None:
    assert picodollars(absurd) is None
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        jev.settle(jev.begin(TEN), Estimate(10, 1, absurd))
    assert (only(path).usd_exact, only(path).usd_estimated) == (0, PICO // 1000)
    assert tokens(-1) is tokens(10**12) is None


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        (Caps(usd=0.003), "max_usd=0.003: $0.002000 spent, $0.001000 reserved for requests on their way"),
        (Caps(tokens=33), "max_tokens=33: 22 spent, 11 reserved for requests on their way, 11 expected"),
        (Caps(requests=3), "max_requests=3: 2 spent, 1 reserved for requests on their way"),
    ],
)
@pytest.mark.parametrize("whose", ["model", "spend"])
def test_each_cap_stops_before_it_is_passed(path: Path, caps: Caps, said: str, whose: str) -> None:
    with Ledger(path, caps if whose == "spend" else None) as ledger:
        jev = ledger.account("jev", caps if whose == "model" else None)
        # Another model counts for the cap of all, and not for the model's own.
        other = ledger.account("other") if whose == "spend" else jev
        other.settle(other.begin(TEN), TEN)
        jev.settle(jev.begin(TEN), TEN)
        jev.begin(TEN)
        with pytest.raises(SpendError) as caught:
            jev.begin(TEN)
        setting = f"{whose}.{said.partition('=')[0]}"
        assert f"{whose}.{said}" in str(caught.value)
        assert f"raise {setting} and run the same command again" in str(caught.value)
        assert "Finished trials are kept" in str(caught.value)
        if whose == "model":
            free = ledger.account("free")
            free.settle(free.begin(TEN), TEN)


def test_a_cap_filled_to_the_last_token_is_not_passed_by_an_unknown_request(path: Path) -> None:
    with Ledger(path, Caps(tokens=11)) as ledger:
        jev = ledger.account("jev")
        jev.settle(jev.begin(TEN), TEN)
        with pytest.raises(SpendError, match=r"spend\.max_tokens=11: 11 spent\. Finished"):
            jev.begin(Estimate())


def test_zero_dollars_lets_free_models_go(path: Path) -> None:
    with Ledger(path, Caps(usd=0)) as ledger:
        free = ledger.account("free")
        free.settle(free.begin(Estimate(10, 1, 0.0)), Estimate(10, 1, 0.0))
        with pytest.raises(SpendError, match="max_usd=0"):
            free.begin(Estimate(10, 1, 1e-9))
        with pytest.raises(SpendError, match="max_usd=0"):
            free.begin(Estimate(10, 1, None))


def test_a_dollar_cap_cannot_hold_an_unknown_price_and_says_so(path: Path) -> None:
    with Ledger(path, Caps(usd=1)) as ledger:
        local = ledger.account("local")
        for _ in range(3):
            local.settle(local.begin(Estimate(10)), Estimate(10, 1))
    assert only(path).unknown_cost == 3
    assert unheld("local", Caps(), Caps(usd=1), priced=False) == (
        "the price of model local is unknown, so spend.max_usd cannot hold it: set model.price_input, or cap "
        "it with model.max_tokens or model.max_requests"
    )
    assert unheld("local", Caps(), Caps(tokens=1), priced=False) is None
    assert unheld("local", Caps(usd=1), Caps(), priced=True) is None


@pytest.mark.parametrize("bad", [{"usd": -1}, {"usd": float("nan")}, {"tokens": 1.5}, {"requests": True}])
def test_bad_caps_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"max_{next(iter(bad))}="):
        Caps(**bad)


amounts = st.builds(
    Estimate,
    st.none() | st.integers(0, 10**6),
    st.none() | st.integers(0, 100),
    st.none() | st.integers(0, 10**9).map(lambda pico: pico / PICO),
)
closings = st.tuples(st.sampled_from(["settle", "reject", "unknown", "leave"]), amounts, amounts)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), closings), max_size=12))
def test_sums_are_those_of_a_plain_count(tmp_path_factory: Any, steps: list[Any]) -> None:
    path = tmp_path_factory.mktemp("sums") / FILE
    counts: dict[str, dict[str, int]] = {}
    with Ledger(path) as ledger:
        for model, (how, expected, took) in steps:
            account = ledger.account(model)
            ticket = account.begin(expected)
            if how == "settle":
                account.settle(ticket, took)
            elif how != "leave":
                getattr(account, how)(ticket)
            row = counts.setdefault(model, dict.fromkeys(Spent.__slots__[1:], 0))
            if how == "leave":
                row["flying"] += 1
                row["flying_tokens"] += (expected.input_tokens or 0) + (expected.output_tokens or 0)
                row["flying_usd"] += round((expected.cost_usd or 0) * PICO)
                continue
            row["requests"] += 1
            row["rejected"] += how == "reject"
            row["unanswered"] += how == "unknown"
            if how == "reject":
                continue
            for name, short in (("input_tokens", "input"), ("output_tokens", "output"), ("cost_usd", "usd")):
                scale = PICO if short == "usd" else 1
                said = getattr(took, name) if how == "settle" else None
                kept = getattr(expected, name)
                if said is not None:
                    row[f"{short}_exact"] += round(said * scale)
                elif kept is not None:
                    row[f"{short}_estimated"] += round(kept * scale)
                else:
                    row["unknown_cost" if short == "usd" else f"unknown_{short}"] += 1
        found = read_spending(path)
        assert {s.model: s for s in found.models} == {m: Spent(m, **row) for m, row in counts.items()}
        with contextlib.closing(sqlite3.connect(path)) as db:
            open_ = db.execute("SELECT model, open_requests, open_tokens, open_usd FROM spent").fetchall()
        assert {m: tuple(rest) for m, *rest in open_} == {
            s.model: (s.flying, s.flying_tokens, s.flying_usd) for s in found.models
        }
    total = read_spending(path).total
    assert (total.model, total.flying, total.requests) == (ALL, 0, len(steps))


def test_requests_on_their_way_at_the_end_are_estimated(path: Path) -> None:
    ledger = Ledger(path)
    jev = ledger.account("jev")
    ticket = jev.begin(TEN)
    assert (only(path).flying, only(path).flying_tokens) == (1, 11)
    ledger.close()
    ledger.close()
    jev.settle(ticket, TEN)
    with pytest.raises(RuntimeError, match="after the ledger was closed"):
        jev.begin(TEN)
    assert only(path) == Spent(
        "jev", requests=1, unanswered=1, input_estimated=10, output_estimated=1, usd_estimated=PICO // 1000
    )


def test_the_file_stays_small_and_remembers(path: Path) -> None:
    for _ in range(3):
        with Ledger(path) as ledger:
            jev = ledger.account("jev", Caps(requests=3000))
            for _ in range(1000):
                jev.settle(jev.begin(TEN), TEN)
    assert path.stat().st_size <= 64 * 1024
    assert only(path).requests == 3000
    assert read_spending(path).caps == {"": Caps(), "jev": Caps(requests=3000)}
    with Ledger(path, Caps(requests=3000)) as ledger, pytest.raises(SpendError, match="3,000 spent"):
        ledger.account("jev").begin(TEN)


def spend_until_the_cap(path: Path, start: Any, found: Any) -> None:
    start.wait()
    count = 0
    with Ledger(path, Caps(requests=1000, tokens=10**6)) as ledger:
        jev = ledger.account("jev", Caps(usd=100))
        try:
            while True:
                jev.settle(jev.begin(TEN), TEN)
                count += 1
        except SpendError:
            found.put(count)


def test_processes_that_start_at_once_share_one_cap(path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    start, found = context.Barrier(6), context.Queue()
    running = [context.Process(target=spend_until_the_cap, args=(path, start, found)) for _ in range(6)]
    for process in running:
        process.start()
    counts = [found.get(timeout=60) for _ in running]
    for process in running:
        process.join(timeout=60)
    assert [process.exitcode for process in running] == [0] * 6
    assert sum(counts) == 1000
    assert only(path).requests == 1000
    assert only(path).usd_exact == PICO


HOLD = """
import sys, time
from pathlib import Path
from beeline.ledger import Ledger
from beeline.services import Estimate
account = Ledger(Path(sys.argv[1])).account("jev")
account.settle(account.begin(Estimate(10, 1, 0.001)), Estimate(10, 1, 0.001))
for _ in range(5):
    account.begin(Estimate(10, None, 0.001))
print("held", flush=True)
time.sleep(600)
"""


def killed_holder(path: Path) -> None:
    """A process settles one request, holds five more, and is killed."""
    program = [sys.executable, "-c", textwrap.dedent(HOLD), str(path)]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert (only(path).flying, only(path).abandoned) == (5, 0)
        process.send_signal(signal.SIGKILL)


def test_what_a_killed_process_reserved_stays_counted(path: Path) -> None:
    killed_holder(path)
    dead = Spent(
        "jev",
        requests=6,
        abandoned=5,
        unknown_output=5,
        input_exact=10,
        input_estimated=50,
        output_exact=1,
        usd_exact=PICO // 1000,
        usd_estimated=5 * PICO // 1000,
    )
    assert only(path) == dead  # a reader books it as the next writer will
    with Ledger(path, Caps(requests=7)) as ledger:
        assert only(path) == dead
        jev = ledger.account("jev")
        jev.settle(jev.begin(TEN), TEN)
        with pytest.raises(SpendError):
            jev.begin(TEN)
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM reserved").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (0,)


def test_a_process_elsewhere_is_not_taken_for_dead(path: Path) -> None:
    killed_holder(path)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE runs SET place = 'another container'")
    with Ledger(path):
        assert (only(path).flying, only(path).elsewhere, only(path).abandoned) == (5, 5, 0)


def test_owners() -> None:
    me = this_process()
    assert state_of(me) == "alive"
    assert state_of(Owner(me.host, me.place, "before the restart", me.pid, me.started)) == "dead"
    assert state_of(Owner(me.host, me.place, me.boot, me.pid, "1")) == "dead"
    assert state_of(Owner("other", me.place, me.boot, me.pid, "1")) == "elsewhere"
    assert state_of(Owner(me.host, me.place, me.boot, me.pid, "")) == "alive"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert state_of(Owner(me.host, me.place, me.boot, gone.pid, "")) == "dead"


def test_one_wrongly_taken_for_dead_goes_on_and_counts_once(path: Path) -> None:
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        ticket = jev.begin(TEN)
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE runs SET started = '1'")
        Ledger(path).close()
        jev.settle(ticket, TEN)
        jev.settle(jev.begin(TEN), TEN)
    assert only(path) == Spent(
        "jev",
        requests=2,
        abandoned=1,
        input_exact=10,
        input_estimated=10,
        output_exact=1,
        output_estimated=1,
        usd_exact=PICO // 1000,
        usd_estimated=PICO // 1000,
    )


def test_a_forked_child_counts_on_its_own(path: Path) -> None:
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        mine = jev.begin(TEN)
        child = os.fork()
        if child == 0:
            try:
                jev.settle(jev.begin(TEN), TEN)
                ledger.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        jev.settle(mine, TEN)
    assert only(path).requests == 2
    assert only(path).input_exact == 20


def test_readers_need_no_write_access_and_see_a_run_in_progress(path: Path) -> None:
    with pytest.raises(StorageError, match="nothing has been spent"):
        read_spending(path)
    with Ledger(path) as ledger:
        jev = ledger.account("jev")
        jev.settle(jev.begin(TEN), TEN)
        assert only(path).requests == 1
    assert not path.with_name(FILE + "-wal").exists()


def refused(path: Path) -> str:
    with pytest.raises(StorageError) as caught:
        Ledger(path, busy_s=0.05)
    return str(caught.value)


def test_a_locked_file_is_an_error_of_storage(path: Path) -> None:
    with Ledger(path, busy_s=0.05) as ledger:
        jev = ledger.account("jev")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError, match="stays locked by another process"):
                jev.begin(TEN)
            other.execute("ROLLBACK")
        jev.settle(jev.begin(TEN), TEN)
    assert only(path).requests == 1


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "choose a folder you may write with results=DIR" in refused(tmp_path / "file" / FILE)
    assert "choose a folder you may write with results=DIR" in refused(Path("/proc", FILE))


def test_a_damaged_or_later_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all" * 100)
    assert "is damaged" in refused(path)
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=99")
    assert "later version of beeline" in refused(path)


def test_the_journal_fits_the_file_system(path: Path) -> None:
    def mode(network: bool) -> str:
        with contextlib.closing(connect(path, network=network)) as db:
            return str(db.execute("PRAGMA journal_mode").fetchone()[0])

    assert mode(network=False) == "wal"
    assert mode(network=True) == "delete"
    with contextlib.closing(connect(path, network=True)) as db:
        assert db.execute("SELECT count(*) FROM spent").fetchone() == (0,)


def test_network_file_systems_are_told_from_local_ones() -> None:
    mounts = "\n".join(
        [
            "/dev/vda / ext4 rw 0 0",
            "server:/homes /homes nfs4 rw 0 0",
            "/dev/vdb /homes/me/fast\\040disk ext4 rw 0 0",
            "box /mnt fuse.sshfs rw 0 0",
            "tmpfs /mnt tmpfs rw 0 0",
        ]
    )
    found = {place: network_filesystem(Path(place), mounts) for place in ("/homes/me", "/homeless", "/mnt/x")}
    assert found == {"/homes/me": True, "/homeless": False, "/mnt/x": False}
    assert not network_filesystem(Path("/homes/me/fast disk/results"), mounts)
    assert not network_filesystem(Path("/"), "")


def test_dollars_for_people() -> None:
    assert [dollars(p) for p in (0, 42_000_000, 1234 * PICO)] == ["$0.000000", "$0.000042", "$1,234.00"]
