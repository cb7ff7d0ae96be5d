"""Tables that show the state of a manager, for a terminal of any width.

Each column says how wide the terminal has to be for it. A narrow terminal shows only the more important columns. Names
and error texts come from the cluster, so their control characters are escaped: the terminal must not obey them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from kinformer.cli.figures import ago, count, rate, size, span
from kinformer.logs import escaped
from kinformer.manager.inspection.views import (
    ClusterView,
    ControllerView,
    InformerView,
    QueueView,
    QuotaView,
    RunView,
    TasksView,
    TriggerView,
    WebhookView,
)

__all__ = (
    "CLUSTERS",
    "CONTROLLERS",
    "FAILING",
    "INFORMERS",
    "QUEUES",
    "QUOTAS",
    "RUNS",
    "TASKS",
    "WEBHOOKS",
    "Column",
    "failing_keys",
    "table",
    "trigger_text",
)


class Column(NamedTuple):
    """
    A column of a table.

    :param title: the text in the header
    :param show: takes a row; returns the text of its cell
    :param width: the least width of the terminal, in characters, at which the column is shown
    :param is_number: whether the cells are aligned to the right
    :param is_bad: takes a row; returns whether its cell is shown in red
    """

    title: str
    show: Callable[[Any], str]
    width: int = 0
    is_number: bool = True
    is_bad: Callable[[Any], bool] | None = None


def _name(
    title: str, show: Callable[[Any], str], width: int = 0, is_bad: Callable[[Any], bool] | None = None
) -> Column:
    return Column(title, show, width, False, is_bad)


INFORMERS: Sequence[Column] = (
    _name("RESOURCE", lambda it: it.name),
    _name("STATE", lambda it: it.state, is_bad=lambda it: it.state in ("not following", "stopped")),
    Column("OBJECTS", lambda it: count(it.objects)),
    Column("MEMORY", lambda it: size(it.bytes), 70),
    Column("EVENTS/S", lambda it: rate(it.events_per_second), 50),
    Column("LAST HEARD", lambda it: ago(it.heard_seconds), 90),
    Column("RELISTS", lambda it: count(it.relists), 100),
    Column("ON THE WAY", lambda it: count(it.waiting), 110),
    Column("AT VERSION", lambda it: it.version or "-", 120),
)

QUEUES: Sequence[Column] = (
    _name("QUEUE", lambda it: it.name),
    Column("DEPTH", lambda it: count(it.depth)),
    Column("OLDEST", lambda it: span(it.oldest_seconds)),
    Column("MEDIAN", lambda it: span(it.latency_median), 60),
    Column("99%", lambda it: span(it.latency_99), 70),
    Column("ADDED/S", lambda it: rate(it.adds_per_second), 80),
    Column("DELAYED", lambda it: count(it.delayed), 50),
    Column("RETRIES/S", lambda it: rate(it.retries_per_second), 100),
    Column("RETRIES", lambda it: count(it.retries), 90),
)

CONTROLLERS: Sequence[Column] = (
    _name("CONTROLLER", lambda it: it.name),
    _name("STATE", lambda it: it.state, 90),
    Column("SYNCS/S", lambda it: rate(it.syncs_per_second)),
    Column("SYNCS", lambda it: count(it.syncs), 80),
    Column("ERRORS/S", lambda it: rate(it.errors_per_second), 60),
    Column("ERRORS", lambda it: count(it.errors), 100),
    Column("FAILING", lambda it: count(it.failing), is_bad=lambda it: it.failing > 0),
    Column("MEDIAN", lambda it: span(it.seconds_median), 70),
    Column("99%", lambda it: span(it.seconds_99), 110),
    Column("BUSY", lambda it: f"{it.running}/{it.workers}", 60),
    Column("LONGEST", lambda it: span(it.longest_seconds), 120),
)


TASKS: Sequence[Column] = (
    _name("BESIDE SYNCS", lambda it: it.name),
    _name("KIND", lambda it: it.kind, 90),
    Column("RUNNING", lambda it: count(it.running)),
    Column("FAILING", lambda it: count(it.failing), is_bad=lambda it: it.failing > 0),
    Column("IDLE", lambda it: count(it.idle), 70),
    Column("ERRORS", lambda it: count(it.errors), 100),
    Column("AGAIN IN", lambda it: span(it.due_seconds), 60),
    _name("ERROR", lambda it: f"{it.key}: {it.error}" if it.key else it.error, 80),
)


class _Failing(NamedTuple):
    controller: str
    key: str
    error: str
    ended_seconds: float
    due_seconds: float | None


FAILING: Sequence[Column] = (
    _name("FAILING KEY", lambda it: it.key),
    _name("CONTROLLER", lambda it: it.controller, 60),
    Column("FAILED", lambda it: ago(it.ended_seconds), 100),
    Column("AGAIN IN", lambda it: span(it.due_seconds)),
    _name("ERROR", lambda it: it.error, 80),
)

CLUSTERS: Sequence[Column] = (
    _name("CLUSTER", lambda it: it.name),
    _name("STATE", lambda it: it.state, is_bad=lambda it: it.state in ("failed", "starting")),
    Column("FAILURES", lambda it: count(it.failures), 70, is_bad=lambda it: it.failures > 0),
    Column("AGAIN IN", lambda it: span(it.due_seconds), 90),
    _name("WHY", lambda it: it.trouble, 60),
)

QUOTAS: Sequence[Column] = (
    _name("QUOTA", lambda it: it.name),
    _name("KIND", lambda it: it.kind, 90),
    _name("RESOURCE", lambda it: it.resource),
    Column("USED", lambda it: it.used, 60),
    Column("LIMIT", lambda it: it.hard, 60),
    Column("SHARE", lambda it: f"{it.share:.0%}", is_bad=lambda it: it.share >= 1),
    _name("", lambda it: "#" * round(min(it.share, 1) * 20), 80),
)

WEBHOOKS: Sequence[Column] = (
    _name("WEBHOOK", lambda it: it.path),
    _name("KIND", lambda it: it.kind, 110),
    _name("STATE", lambda it: it.state, 70, is_bad=lambda it: it.state.startswith("not ")),
    Column("REQUESTS/S", lambda it: rate(it.requests_per_second), 60),
    Column("REQUESTS", lambda it: count(it.requests), 90),
    Column("REFUSED", lambda it: count(it.refused)),
    Column("FAILED", lambda it: count(it.failed), is_bad=lambda it: it.failed > 0),
    Column("MEDIAN", lambda it: span(it.seconds_median), 100),
    Column("99%", lambda it: span(it.seconds_99), 110),
)

RUNS: Sequence[Column] = (
    Column("WHEN", lambda it: ago(it.ago_seconds)),
    _name("WHAT FOR", lambda it: trigger_text(it.trigger)),
    Column("WAITED", lambda it: span(it.waited_seconds), 90),
    Column("TOOK", lambda it: span(it.seconds)),
    _name("HOW IT ENDED", lambda it: f"failed: {it.error}" if it.error else "well", is_bad=lambda it: bool(it.error)),
)

_Row = (
    ClusterView | ControllerView | InformerView | QueueView | QuotaView | RunView | TasksView | WebhookView | _Failing
)


def failing_keys(controllers: Iterable[ControllerView]) -> list[_Failing]:
    """The rows of :data:`FAILING`. The key that failed last comes first."""
    found = [
        _Failing(it.name, key.key, key.error, key.ended_seconds, key.due_seconds)
        for it in controllers
        for key in it.failed
    ]
    return sorted(found, key=lambda row: row.ended_seconds)


def table(columns: Sequence[Column], rows: Iterable[_Row], width: int, *, wraps: bool = False) -> Table:
    """
    Make a table.

    :param columns: its columns; those that need a wider terminal are left out
    :param rows: one view for each row
    :param width: the width of the terminal, in characters
    :param wraps: show a long text on several lines; otherwise it is cut
    """
    shown = [column for column in columns if width >= column.width]
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in shown:
        made.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number or not wraps,
            overflow="fold" if wraps else "ellipsis",
        )
    for row in rows:
        made.add_row(
            *(
                Text(escaped(column.show(row)), "red" if column.is_bad is not None and column.is_bad(row) else "")
                for column in shown
            )
        )
    return made


_EVENTS = {
    "listed": "there at the start",
    "added": "added",
    "updated": "updated",
    "deleted": "deleted",
    "resynced": "told of again, unchanged",
    "retry": "a retry after a failure",
    "due": "the time that was set had come",
    "asked": "asked for by the controller itself",
}


def trigger_text(trigger: TriggerView) -> str:
    """What put a key into the queue."""
    what = _EVENTS.get(trigger.event, trigger.event)
    if not trigger.informer:
        return what
    if trigger.event == "retry":
        return f"{what}; first for {trigger.informer} {trigger.object}"
    version = f" (version {trigger.version})" if trigger.version else ""
    return f"{trigger.informer} {trigger.object} {what}{version}"
