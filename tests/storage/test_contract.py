"""What every store must do, whatever it is made of."""

from __future__ import annotations

import sys
import threading
from itertools import count

import pytest

from lsdt.errors import InvalidInput, StoreFailed, StoreLocked
from lsdt.storage import Event, Kind, now, open_store, units_scope
from lsdt.storage.events import START


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request, tmp_path):
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    else:
        url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/deep/lsdt.db"}[request.param]
    with open_store(url) as opened:
        opened.create("drinks", "tea and coffee", b"begin")
        yield opened


def ask(number, time=1):
    return Event(Kind.ASK, time, number, 3, None, b"mask")


def tell(number, reward=0.5):
    return Event(Kind.TELL, 2, number, 3, reward)


def events(store, after=START, **options):
    found = [entry for batch in store.read("drinks", after, **options) for entry in batch]
    assert [entry.position for entry in found] == sorted({entry.position for entry in found})
    return [Event(*entry[3:]) for entry in found]


def test_names(store):
    assert [each.name for each in store.list()] == ["drinks"]
    assert store.find("drinks").about == "tea and coffee"
    assert store.find("food") is None
    assert store.latest("drinks").blob == b"begin"
    assert store.latest("drinks").position == START
    store.create("a/b".replace("/", "-"), "", b"")
    assert [each.name for each in store.list()] == ["a-b", "drinks"]
    store.delete("a-b")
    assert [each.name for each in store.list()] == ["drinks"]
    with pytest.raises(InvalidInput, match="there is an experiment 'drinks'"):
        store.create("drinks", "", b"")
    with pytest.raises(InvalidInput, match="no experiment 'drinsk' .*did you mean 'drinks'"):
        store.lease("drinsk")
    for name in ("", " x", "x\n", "a/b", "x" * 201, 3):
        with pytest.raises(InvalidInput, match="name must be"):
            store.create(name, "", b"")


def test_a_name_that_is_given_again_is_another_experiment(store):
    before, cursor = store.number("drinks"), store.cursor("drinks", START)
    lease = store.lease("drinks")
    lease.append([ask(0), tell(0)])
    assert lease.number == before == cursor.number == store.find("drinks").number
    assert len(store.read_new([cursor])[0]) == 2
    lease.release()
    store.delete("drinks", before)
    store.create("drinks", "tea alone", b"anew")
    assert store.number("drinks") == store.find("drinks").number > before
    later = store.lease("drinks")
    later.append([ask(number) for number in range(5)])
    assert later.number > before
    assert [list(each) for each in store.read_new([cursor])] == [[]]  # it is not a cursor in this log
    with pytest.raises(StoreFailed, match="given back"):
        lease.insert([ask(9)])
    later.release()
    with pytest.raises(InvalidInput, match="was deleted, and another one was created under its name"):
        store.delete("drinks", before)
    assert events(store) == [ask(number) for number in range(5)]
    assert store.latest("drinks").blob == b"anew"


def test_what_is_appended_is_read(store):
    lease = store.lease("drinks")
    written = [
        ask(0),
        tell(0),
        Event(Kind.OBSERVE, 3, -1, 7, -1e300),
        ask(1),
        Event(Kind.CANCEL, 4, 1, 3),
        ask(2),
        Event(Kind.EXPIRE, 2**53, 2, 3, 0.0),
        Event(Kind.EXTEND, 5, data=bytes(range(256)) * 1000),
        Event(Kind.RETIRE, 6, -1, 2, 1.0),
    ]
    assert all(lease.append(written[:4]))
    assert all(lease.append(written[4:]))
    assert events(store) == written
    assert events(store, batch=2) == written
    middle = next(iter(store.read("drinks")))[3]
    assert middle.writer == lease.writer
    assert events(store, middle.position) == written[4:]
    assert events(store, settled=True) == written
    assert [Event(*entry[3:]) for entry in store.last("drinks", 3)] == written[-3:]
    assert [Event(*entry[3:]) for entry in store.last("drinks", 2, middle.position)] == written[2:4]
    assert [Event(*entry[3:]) for entry in store.last("drinks", 99)] == written
    assert list(store.last("drinks", 5, START)) == []


def test_nobody_sees_what_is_not_committed(store):
    lease = store.lease("drinks")
    assert list(lease.insert([ask(0)])) == [True]
    assert store.remember("answers", "k", b"v")
    assert events(store) == []
    assert store.recall("answers") == {}
    store.commit()
    store.commit()
    assert events(store) == [ask(0)]
    assert store.recall("answers", "k") == {"k": b"v"}


def test_a_decision_is_asked_once_and_closed_once(store):
    """Within a group, across groups, and whatever closes it; the other events of a group are kept."""
    lease = store.lease("drinks")
    assert list(lease.append([ask(0), ask(0, 9), tell(0), tell(0, 1.0), ask(1)])) == [
        True,
        False,
        True,
        False,
        True,
    ]
    closings = [Event(Kind.CANCEL, 3, 0, 3), Event(Kind.EXPIRE, 3, 0, 3, 0.0), tell(0)]
    assert list(lease.append([*closings, ask(0), tell(1)])) == [False, False, False, False, True]
    assert events(store) == [ask(0), tell(0), ask(1), tell(1)]
    lease.release()
    assert list(store.lease("drinks").append([ask(1), tell(1), ask(2)])) == [False, False, True]


def test_a_log_has_one_writer(store):
    lease = store.lease("drinks")
    with pytest.raises(StoreLocked, match="'drinks' is open already"):
        store.lease("drinks")
    with pytest.raises(StoreLocked, match="in use|is open already"):
        store.delete("drinks")
    lease.release()
    later = store.lease("drinks")
    assert later.writer != lease.writer
    with pytest.raises(StoreFailed, match="given back"):
        lease.insert([ask(0)])


def test_snapshots_belong_to_an_event_and_make_earlier_ones_superfluous(store):
    lease = store.lease("drinks")
    for number in range(3):
        lease.append([ask(number), tell(number)])
        store.snapshot(lease, Event(Kind.SNAPSHOT, 10 + number), b"state %d" % number)
        assert store.latest("drinks").blob != b"state %d" % number  # not committed
        store.commit()
    lease.append([ask(3)])
    newest = store.latest("drinks")
    assert newest.blob == b"state 2"
    assert events(store, newest.position) == [ask(3)]
    older = store.latest("drinks", before=newest.position)
    assert older.blob == b"state 1"
    assert events(store, older.position)[:2] == [ask(2), tell(2)]
    assert store.compact("drinks") == 5
    assert store.find("drinks").compacted == older.position
    assert store.latest("drinks", before=older.position) is None
    assert [event.kind for event in events(store)] == [
        Kind.SNAPSHOT,
        Kind.ASK,
        Kind.TELL,
        Kind.SNAPSHOT,
        Kind.ASK,
    ]
    assert events(store, older.position)[:2] == [ask(2), tell(2)]
    lease.append([tell(3)])
    lease.release()
    store.lease("drinks").append([ask(4)])
    assert events(store, newest.position) == [ask(3), tell(3), ask(4)]


def test_numbers_are_reserved_once(store):
    lease = store.lease("drinks")
    assert store.reserve_numbers(lease, 10) == 0
    assert store.reserve_numbers(lease, 5) == 10
    lease.append([ask(40)])
    assert store.reserve_numbers(lease, 1) == 41
    lease.release()
    assert store.reserve_numbers(store.lease("drinks"), 1) == 42


@pytest.mark.parametrize("n", [2, 32, 33, 100])
def test_groups_with_repeats_in_them(store, n):
    """Many rows at once are inserted as one by one: what is new is kept, in order, and chained."""
    lease = store.lease("drinks")
    first = [ask(at) for at in range(n)]
    assert all(lease.append(first))
    mixed = [ask(at) for at in range(n, 2 * n)]
    mixed[n // 2] = ask(0)
    assert list(lease.append(mixed)) == [at != n // 2 for at in range(n)]
    found = [entry.number for batch in store.read("drinks") for entry in batch]
    assert found == [at for at in range(2 * n) if at != n + n // 2]


def test_notes(store):
    assert store.remember("keys", "mac", b"1")
    assert not store.remember("keys", "mac", b"2")
    store.commit()
    assert not store.remember("keys", "mac", b"3")
    assert store.remember("keys", "other", b"4")
    assert store.remember("answers", "mac", b"5")
    store.commit()
    assert store.recall("keys") == {"mac": b"1", "other": b"4"}
    assert store.recall("keys", "none") == {}
    assert store.forget("keys", "other") == 1
    assert store.forget("keys", before=0) == 0
    assert store.forget("keys", before=2**60) == 1
    assert store.recall("answers") == {"mac": b"5"}
    store.remember_many(
        [("answers", f"{token} {at}", b"6") for token in ("ab", "ab%", "AB") for at in range(3)]
    )
    store.commit()
    assert store.forget("answers", prefix="ab ", before=0) == 0
    assert store.forget("answers", prefix="ab ") == 3
    assert sorted(store.recall("answers")) == ["AB 0", "AB 1", "AB 2", "ab% 0", "ab% 1", "ab% 2", "mac"]


def test_a_note_is_replaced_if_it_is_the_one_that_was_read(store):
    assert store.remember("units 1", "a", b"1")
    store.commit()
    assert not store.remember("units 1", "a", b"2", b"0")
    assert not store.remember("units 1", "erased", b"2", b"1")
    assert store.remember("units 1", "a", b"2", b"1")
    store.commit()
    mixed = [("units 1", "b", b"3"), ("units 1", "a", b"4", b"1"), ("units 1", "c", b"5", None)]
    mixed.append(("units 1", "erased", b"6", b"5"))
    assert store.remember_many(mixed) == [True, False, True, False]
    assert store.remember_many([("units 1", "c", b"6", b"5"), ("units 1", "d", b"7", None)]) == [True, True]
    store.commit()
    assert store.recall("units 1") == {"a": b"2", "b": b"3", "c": b"6", "d": b"7"}
    assert store.forget("units 1") == 4


def test_notes_are_taken_back_before_they_are_committed(store):
    store.remember("answers", "a", b"1")
    store.commit()
    with store.transaction():
        assert store.remember_many([("answers", "b", b"2"), ("answers", "c", b"3")]) == [True, True]
        store.take_back([("answers", "b")])
        store.take_back([])
    assert store.recall("answers") == {"a": b"1", "c": b"3"}
    assert store.remember("answers", "b", b"4")


def test_the_units_of_an_experiment_go_with_it(store):
    store.create("going", "", b"")
    scope = units_scope(store.number("going"))
    store.remember(scope, "a", b"1")
    store.commit()
    store.delete("going")
    assert store.recall(scope) == {}


def test_old_notes_go_however_many_there_are(store):
    """Databases remove them in steps; the others stay."""
    with store.transaction():
        store.remember_many([("answers", f"{at:05}" if at else "", b"x") for at in range(10_001)])
        store.remember("keys", "mac", b"1")
    when = now()
    while now() == when:
        pass
    store.remember("answers", "04321 and a half", b"y")
    store.commit()
    assert store.recall("answers", "00007") == {"00007": b"x"}
    assert store.forget("answers", before=0) == 0
    assert store.forget("answers", before=when) == 10_001
    assert store.recall("answers") == {"04321 and a half": b"y"}
    assert store.recall("keys", "mac") == {"mac": b"1"}


def test_many_notes_at_once(store):
    with store.transaction():
        assert list(store.remember_many([("a", "2", b"x"), ("a", "1", b"y"), ("b", "1", b"z")])) == [True] * 3
    notes = [("b", "1", b"-"), ("a", "3", b"w"), ("a", "1", b"-")]
    assert list(store.remember_many(notes)) == [False, True, False]
    assert list(store.remember_many([])) == []
    store.commit()
    assert store.recall("a") == {"1": b"y", "2": b"x", "3": b"w"}


def test_of_equal_keys_among_many_notes_the_first_is_kept(store):
    """Else two requests with one idempotency key, in one group, would both be told that theirs was kept."""
    notes = [("a", "1", b"second"), ("a", "0", b"x"), ("a", "1", b"first")]
    assert list(store.remember_many(notes)) == [True, True, False]
    store.commit()
    assert store.recall("a") == {"0": b"x", "1": b"second"}


def test_news_of_several_logs(store):
    """Places move on by what was read, and a batch is a bound for each."""
    store.create("food", "", b"")
    leases = [store.lease(name) for name in ("drinks", "food")]
    cursors = [store.cursor(name, START) for name in ("drinks", "food")]
    assert [list(part) for part in store.read_new(cursors)] == [[], []]
    with store.transaction():
        leases[0].insert([ask(number) for number in range(3)])
        leases[1].insert([ask(7)])
        assert [list(part) for part in store.read_new(cursors)] == [[], []]  # not committed
    found = store.read_new(cursors, batch=2)
    assert [[entry.number for entry in part] for part in found] == [[0, 1], [7]]
    leases[0].append([tell(1)])
    found = store.read_new(cursors)
    assert [[entry.number for entry in part] for part in found] == [[2, 1], []]
    late = store.cursor("drinks", found[0][0].position)
    assert [entry.number for entry in store.read_new([late])[0]] == [1]
    assert list(store.read_new([])) == []


def test_two_experiments_of_one_store_are_committed_together_and_read_apart(store):
    store.create("food", "", b"")
    leases = [store.lease(name) for name in ("drinks", "food")]
    leases[0].insert([ask(0)])
    leases[1].insert([ask(0, 5)])
    leases[0].store.commit()
    assert events(store) == [ask(0)]
    assert [entry.time for batch in store.read("food") for entry in batch] == [5]


def test_an_exception_within_a_transaction_rolls_it_back(store, request):
    """All of it or nothing; what was inserted may be unknown to its caller, so the store fails."""
    if store.url.startswith("memory"):
        pytest.skip("memory has no transactions to roll back")
    lease = store.lease("drinks")

    def interrupted():
        with store.transaction():
            lease.insert([ask(0)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    for call in (lambda: lease.append([ask(1)]), lambda: events(store)):
        with pytest.raises(StoreFailed, match="interrupted while it wrote; open it again"):
            call()
    url = request.getfixturevalue("postgresql_url") if store.is_shared else store.url
    with open_store(url) as again:
        assert events(again) == []


def test_a_commit_in_memory_that_is_interrupted_is_plainly_broken():
    """Stop at every line: what was committed twice would be a damaged log."""
    for stop in count():
        store, lines = open_store("memory://"), count()
        store.create("drinks", "", b"")
        lease = store.lease("drinks")
        lease.insert([ask(0), ask(1)])
        store.snapshot(lease, Event(int(Kind.SNAPSHOT), 1), b"state")

        def trace(frame, event, _, lines=lines, stop=stop):
            if frame.f_code.co_name != "commit":
                return None
            if event == "line" and next(lines) == stop:
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            store.commit()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        try:
            store.commit()
            assert [event.number for event in events(store)][:2] == [0, 1]
        except StoreFailed as error:
            assert "interrupted" in str(error)
        if next(lines) <= stop:
            break


def test_an_exception_before_anything_is_inserted_harms_nothing(store):
    def refused():
        with store.transaction():
            raise InvalidInput("no")

    with pytest.raises(InvalidInput, match="no"):
        refused()
    store.lease("drinks").append([ask(0)])
    assert events(store) == [ask(0)]


def test_many_threads_append(store):
    leases = []
    for name in "abcd":
        store.create(name, "", b"")
        leases.append(store.lease(name))

    def work(lease):
        for number in range(50):
            assert all(lease.append([ask(number), tell(number)]))

    threads = [threading.Thread(target=work, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in "abcd":
        assert sum(len(batch) for batch in store.read(name)) == 100


def test_commit_may_run_in_another_thread(store):
    lease = store.lease("drinks")
    lease.insert([ask(0)])
    thread = threading.Thread(target=store.commit)
    thread.start()
    thread.join()
    assert events(store) == [ask(0)]


def test_bad_urls():
    for url, message in (
        ("file.db", "a store is memory://, sqlite:///file.db or postgresql"),
        ("sqllite:///x.db", "did you mean 'sqlite'"),
        ("sqlite://x.db", "with three slashes"),
        ("sqlite:///:memory:", "one without a file is memory://"),
        (3, "url must be text"),
    ):
        with pytest.raises(InvalidInput, match=message):
            open_store(url)
    with pytest.raises(InvalidInput, match="durability must be"):
        open_store("memory://", durability="none")
