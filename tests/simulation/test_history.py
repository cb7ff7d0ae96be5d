"""The history of a simulated run: one order, one text, one digest."""

from __future__ import annotations

from kinformer.simulation.history import History, Record


def test_records_are_numbered_in_the_order_in_which_they_are_appended() -> None:
    history = History()

    history.append(0.0, "user", "write", "pods/default/a", 1, "ADDED")
    history.append(0.5, "manager", "event", "pods/default/a", 1, "add")

    assert [record.number for record in history] == [0, 1]
    assert history[1].actor == "manager"


def test_listeners_are_given_each_record_when_it_is_there() -> None:
    history = History()
    seen: list[tuple[Record, int]] = []
    history.listeners.append(lambda record: seen.append((record, len(history))))

    record = history.append(1.0, "manager", "start")

    assert seen == [(record, 1)]


def test_a_line_tells_all_that_is_known_and_no_more() -> None:
    history = History()
    history.append(12.5, "manager", "write", "pods/default/a", 7, "ADDED")
    history.append(13.0, "manager", "killed")

    assert [line.split() for line in history.lines()] == [
        ["0", "12.5000", "manager", "write", "pods/default/a", "@7", "ADDED"],
        ["1", "13.0000", "manager", "killed"],
    ]


def test_two_histories_have_one_digest_only_if_they_are_the_same() -> None:
    def history(version: int) -> History:
        made = History()
        made.append(0.1, "user", "write", "pods/default/a", version)
        return made

    assert history(1).digest() == history(1).digest() != history(2).digest()
