"""Timelines: what each actor saw and did, with the cause marked."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from kinformer.simulation.history import History
from kinformer.simulation.oracles import Violation
from kinformer.simulation.plan import Plan
from kinformer.simulation.timeline import actors_of, rows, text_timeline
from kinformer.simulation.timeline_page import timeline_page

PLAN = Plan.parse("seed=7 crash(manager,write=1,lost)")
CLAIM = "persistentvolumeclaims/default/data-0"


@pytest.fixture
def history() -> History:
    """A manager is killed after its write, and its successor does it again."""
    history = History()
    history.append(0.0, "manager", "start")
    history.append(0.0, "user", "write", "webs.example.com/default/web", 1, "ADDED")
    history.append(0.1, "manager", "event", "webs.example.com/default/web", 1, "add first")
    history.append(0.1, "manager", "event", "webs.example.com/default/web", 1, "add second")
    history.append(0.1, "manager", "event", "nodes/n1", 1, "add first")
    history.append(0.2, "manager", "sync", "default/web", detail="web")
    history.append(0.3, "manager", "request", CLAIM, 0, "create")
    history.append(0.3, "manager", "write", CLAIM, 2, "ADDED")
    history.append(0.3, "manager", "fault", detail="crash(manager,write=1,lost)")
    history.append(0.3, "manager", "killed")
    history.append(1.3, "manager", "start", detail="replica-1")
    history.append(1.5, "manager", "write", CLAIM, 3, "DELETED")
    return history


WRONG = Violation("churn", f"{CLAIM} was deleted once; without faults never", (11,))


def test_users_come_before_servers_and_those_before_others() -> None:
    history = History()
    for actor in ("b", "server", "a", "user"):
        history.append(0, actor, "note")

    assert actors_of(history.records) == ["user", "server", "b", "a"]


def test_one_event_is_one_row_however_many_handlers_there_are(history: History) -> None:
    found = [row for row in rows(history.records) if row.what == "event"]

    assert [(row.text, row.count) for row in found] == [
        ("sees new webs.example.com/default/web @1", 2),
        ("sees new nodes/n1 @1", 1),
    ]


def test_the_cause_and_what_shows_the_violation_are_marked(history: History) -> None:
    found = list(rows(history.records, [WRONG]))

    assert [row.text for row in found if row.is_cause] == ["crash(manager,write=1,lost)"]
    assert [row.text for row in found if row.is_violation] == [f"deletes {CLAIM} @3"]


def test_the_text_has_a_column_for_each_actor(history: History) -> None:
    lines = text_timeline(history.records, [WRONG], width=120).splitlines()

    assert lines[0].split() == ["seconds", "user", "manager"]
    column = lines[0].index("manager")
    assert all(line[column] != " " for line in lines if "is killed" in line or "deletes" in line)
    assert any(line.startswith("! ") and "crash(manager,write=1,lost)" in line for line in lines)
    assert any(line.startswith(" >") and f"deletes {CLAIM} @3" in line for line in lines)


def test_the_text_leaves_out_what_is_about_others(history: History) -> None:
    text = text_timeline(history.records, [WRONG])

    assert "nodes/n1" not in text
    assert "asks create" not in text
    assert "creates webs.example.com/default/web" in text
    assert "starts on replica-1" in text
    assert text.endswith("more rows are about other objects, or are requests)")


def test_the_text_leaves_out_renewals_of_leases(history: History) -> None:
    history.append(9.0, "user", "write", "leases.coordination.k8s.io/kube-node-lease/n1", 9, "MODIFIED")

    assert "leases" not in text_timeline(history.records, [WRONG])
    assert "leases" in text_timeline(history.records, [WRONG], everything=True)


def test_a_fault_is_told_with_the_object_at_which_it_happened() -> None:
    history = History()
    history.append(0, "manager", "fault", CLAIM, detail="crash(manager,write=1)")

    assert [row.text for row in rows(history.records)] == [f"crash(manager,write=1) at {CLAIM}"]


def test_everything_can_be_shown(history: History) -> None:
    text = text_timeline(history.records, [WRONG], everything=True)

    assert "nodes/n1" in text
    assert f"asks create {CLAIM}" in text


def test_a_long_text_keeps_what_is_marked_and_its_neighbours() -> None:
    history = History()
    for number in range(500):
        history.append(number, "manager", "write", "pods/default/a", number, "MODIFIED")

    text = text_timeline(history.records, [Violation("quiet", "no rest", (250,))], most=21)

    lines = text.splitlines()
    assert sum("changes pods/default/a" in line for line in lines) == 21
    assert sum(line.strip() == "…" for line in lines) == 2
    assert "@250" in text
    assert "@240" in text
    assert "@239" not in text


def test_no_line_is_longer_than_the_terminal_is_wide(history: History) -> None:
    for actor in ("one", "two", "three", "four"):
        history.append(2, actor, "note", "pods/default/" + "a-rather-long-name-" * 4)

    assert max(map(len, text_timeline(history.records, [WRONG], width=100).splitlines())) <= 116


def test_an_empty_history_has_a_timeline_too() -> None:
    assert "seconds" in text_timeline([])
    assert "Nothing was wrong" in timeline_page([], plan=Plan())


class Page(HTMLParser):
    """What of a page is looked at here."""

    VOID = frozenset({"meta", "input", "br", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.classes: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.cells: list[int] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in given:
            self.ids.add(given["id"] or "")
        if tag == "a":
            self.links.append(given["href"] or "")
        self.loads += [value or "" for name, value in attrs if name == "src" or (name == "href" and tag == "link")]
        if tag == "tr":
            self.cells.append(0)
            self.classes.setdefault(given.get("class") or "", []).append(given.get("id") or "")
        if tag in ("td", "th"):
            self.cells[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_one_file_with_a_cell_for_each_actor(history: History) -> None:
    page = Page(timeline_page(history.records, [WRONG], plan=PLAN))

    assert page.loads == []
    assert set(page.cells) == {4}
    assert page.links == ["#r11"]
    assert "r11" in page.ids
    assert page.classes["cause"] == ["r8"]
    assert page.classes["shows"] == ["r11"]


def test_a_violation_links_to_the_row_that_its_record_is_in(history: History) -> None:
    page = Page(timeline_page(history.records, [Violation("handlers", "twice", (3,))], plan=PLAN))

    assert page.links == ["#r2"]


def test_the_page_shows_the_plan_and_how_to_play_it_again(history: History) -> None:
    text = timeline_page(history.records, [WRONG], plan=PLAN, command="pytest --replay 'seed=7'")

    assert str(PLAN) in text
    assert "pytest --replay &#x27;seed=7&#x27;" in text


def test_what_others_have_written_is_text_and_nothing_else() -> None:
    history = History()
    history.append(0, "<b>", "note", 'x"><script>alert(1)</script>', detail="</td><img src=x>")

    text = timeline_page(history.records, [Violation("<i>", "<u>", (0,))], plan=Plan(), title="<title>", command="<c>")

    page = Page(text)
    assert page.loads == []
    assert "alert(1)</script>" not in text
