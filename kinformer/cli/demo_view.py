"""The output of the demo: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kinformer.cli.demo_rollout import Rollout

__all__ = ("DemoView", "Gauge", "Row", "Scene", "StepResult", "is_ready")

_EVENTS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Row:
    """
    A ReplicationController, and how many pods it has.

    :param current: its pods that are not being deleted
    :param is_told: whether its status is about the current spec and counts the desired pods, all of them ready
    """

    uid: str
    namespace: str
    name: str
    desired: int
    current: int
    pending: int
    ready: int
    terminating: int
    is_told: bool

    @classmethod
    def of(cls, rc: Any, pods: Sequence[Any]) -> Row:
        """
        Count the pods of a ReplicationController.

        :param pods: the pods that it controls
        """
        meta, spec, status = rc.metadata, rc.spec, rc.status
        desired = spec.replicas if spec.replicas is not None else 1
        leaving = sum(pod.metadata.deletion_timestamp is not None for pod in pods)
        staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        is_told = (
            status is not None
            and (status.observed_generation or 0) >= (meta.generation or 0)
            and (status.replicas or 0) == (status.ready_replicas or 0) == desired
        )
        return cls(
            meta.uid,
            meta.namespace,
            meta.name,
            desired,
            len(staying),
            sum(pod.status is None or pod.status.phase in (None, "Pending") for pod in staying),
            sum(is_ready(pod) for pod in staying),
            leaving,
            is_told,
        )

    @property
    def converged(self) -> bool:
        """Whether it has exactly the pods that it should have, all are ready, and its status says so."""
        return self.is_told and self.current == self.ready == self.desired and not self.terminating

    def __str__(self) -> str:
        counts = f"{self.desired} desired, {self.current} current, {self.pending} pending, {self.ready} ready"
        return f"{self.namespace}/{self.name}: {counts}, {self.terminating} terminating"


@dataclass(frozen=True, slots=True)
class Gauge:
    """
    A number that follows the pods: the pods that a quota counts, or a service's addresses.

    :param told: the number in the quota's status or in the service's Endpoints
    :param there: the number that should be there
    :param limit: the quota's limit, None for a service
    """

    title: str
    told: int
    there: int
    limit: int | None = None

    @property
    def converged(self) -> bool:
        return self.told == self.there

    def __str__(self) -> str:
        return f"{self.title}: {self.told}" + (f" of {self.limit}" if self.limit is not None else "")


@dataclass(frozen=True, slots=True)
class Scene:
    """
    All that the demo shows at one time.

    :param rows: the ReplicationControllers
    :param gauges: the ResourceQuotas and the Services
    :param groups: the GroupQuotas, which a webhook enforces
    :param rollouts: the Deployments
    """

    rows: Sequence[Row] = ()
    gauges: Sequence[Gauge] = ()
    groups: Sequence[Gauge] = ()
    rollouts: Sequence[Rollout] = ()

    @property
    def parts(self) -> list[Row | Gauge | Rollout]:
        return [*self.rows, *self.rollouts, *self.gauges, *self.groups]

    @property
    def converged(self) -> bool:
        """Whether every part has converged."""
        return all(part.converged for part in self.parts)

    @property
    def pods(self) -> int:
        return sum(row.current for row in self.rows)


@dataclass(frozen=True, slots=True)
class StepResult:
    """
    The result of a step.

    :param before: the number of pods before the step
    :param after: the number of pods after the step
    :param seconds: how long the step took
    :param converged: False if the timeout came first
    """

    title: str
    before: int
    after: int
    seconds: float
    converged: bool


class DemoView:
    """
    Shows the demo: the current state while the ``with`` block runs, and a summary at the end.

    :param console: where to print; standard output by default
    """

    def __init__(self, console: Console | None = None):
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        self._step = ""
        self._last: list[str] = []

    def __enter__(self) -> DemoView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def begin(self, title: str) -> None:
        self._step = title
        self._last = []
        if self._live is None:
            self.say(f"--> {title}")

    def end(self, result: StepResult, scene: Scene) -> None:
        if result.converged:
            self.say(f"[green]done[/green]  {result.title}: {result.seconds:.2f} s")
        else:
            self.say(f"[red]late[/red]  {result.title}: not converged after {result.seconds:.1f} s")
            for each in scene.parts:
                if not each.converged:
                    self.say(f"      {each}")

    def draw(self, scene: Scene, events: Sequence[str]) -> None:
        """Show the current state. Call it after a change; without a terminal only new lines are printed."""
        if self._live is not None:
            self._live.update(self._picture(scene, events), refresh=True)
            return
        lines = list(map(str, scene.parts))
        for line in lines:
            if line not in self._last:
                self.say(f"    {line}")
        self._last = lines

    def summary(self, results: Sequence[StepResult], writes: int, seconds: float) -> None:
        table = Table(title="What converged, and how fast", title_justify="left")
        table.add_column("step")
        table.add_column("pods", justify="right")
        table.add_column("seconds", justify="right")
        table.add_column("")
        for result in results:
            mark = Text("converged", "green") if result.converged else Text("NOT CONVERGED", "red")
            table.add_row(result.title, f"{result.before} -> {result.after}", f"{result.seconds:.2f}", mark)
        self._console.print(table)
        converged = sum(result.converged for result in results)
        self.say(f"{converged} of {len(results)} steps converged; {writes} writes to the server in {seconds:.1f} s")

    def _picture(self, scene: Scene, events: Sequence[str]) -> Group:
        table = Table(title=self._step, title_justify="left", title_style="bold")
        for column in ("namespace", "controller"):
            table.add_column(column)
        for column in ("desired", "current", "pending", "ready", "terminating"):
            table.add_column(column, justify="right")
        table.add_column("", width=24)
        for row in scene.rows:
            counts = (row.desired, row.current, row.pending, row.ready, row.terminating)
            bar = ProgressBar(total=max(row.desired, row.current, 1), completed=row.ready)
            table.add_row(row.namespace, row.name, *map(str, counts), bar)
        gauges = Text("   ".join(map(str, (*scene.gauges, *scene.groups))))
        told = Text("\n".join(events[-_EVENTS_SHOWN:]), style="dim", no_wrap=True, overflow="ellipsis")
        rollouts = Text("\n".join(map(str, scene.rollouts)))
        return Group(table, rollouts, gauges, told)


def is_ready(pod: Any) -> bool:
    """Whether the pod's condition ``Ready`` is true."""
    conditions = pod.status.conditions if pod.status is not None else None
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions or [])
