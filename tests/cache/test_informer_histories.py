"""Whatever the server does: the store ends like it, and each handler has seen a history that is possible."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.cache import DeletedFinalStateUnknown, InformerOptions, SharedIndexInformer, meta_namespace_index_func
from kinformer.cache.options import QueueKind
from kinformer.cache.testing import FakeControllerSource, expired
from kinformer.client.errors import ConnectionLost, ServerUnreachable
from kinformer.client.types import WatchEvent
from kinformer.clock import FakeClock
from tests.cache.informers import short
from tests.cache.scripted import event, obj, status_error

NAMES = st.sampled_from("abcde")
#: More than any backoff.
LONG = 70.0


class Historian:
    """A handler that finds out what cannot have happened."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.faults: list[str] = []

    def on_add(self, new: Any, is_in_initial_list: bool, /) -> None:
        if name_of(new) in self.known:
            self.faults.append(f"{short(new)} was added, but was there")
        self.known[name_of(new)] = new

    def on_update(self, old: Any, new: Any, /) -> None:
        known = self.known.get(name_of(new))
        if known is None or short(known) != short(old):
            self.faults.append(f"{short(new)} was updated from {short(old)}, which was not the last that was told")
        if version_of(new) < version_of(old):
            self.faults.append(f"{short(new)} is older than {short(old)}")
        self.known[name_of(new)] = new

    def on_delete(self, last: Any, /) -> None:
        state = last.obj if isinstance(last, DeletedFinalStateUnknown) else last
        known = self.known.pop(name_of(state), None)
        if known is None:
            self.faults.append(f"{short(last)} was deleted, but was not there")
        elif version_of(state) < version_of(known):
            self.faults.append(f"{short(last)} was deleted, but {short(known)} was told before")


class SlowHistorian(Historian):
    """The same, and in no hurry."""

    def __init__(self, clock: FakeClock):
        super().__init__()
        self.clock = clock

    async def on_update(self, old: Any, new: Any, /) -> None:  # type: ignore[override]  # either will do
        await self.clock.sleep(0.5)
        super().on_update(old, new)


def name_of(o: Any) -> str:
    return str(o["metadata"]["name"])


def version_of(o: Any) -> int:
    return int(o["metadata"]["resourceVersion"])


class InformerMachine(RuleBasedStateMachine):
    """A source that things happen to, and an informer of it with handlers that come and go."""

    queue: QueueKind = "delta"
    supports_watch_list = False

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.clock = FakeClock()
        self.source: FakeControllerSource[dict[str, Any]] = FakeControllerSource(
            supports_watch_list=self.supports_watch_list
        )
        self.past: list[WatchEvent[dict[str, Any]]] = []
        #: Whether something happened that the open watches were not told of.
        self.silent = False
        self.handlers: list[tuple[Historian, Any]] = []

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(what)

    @initialize(
        page_size=st.sampled_from([0, 1, 2]), resync_period=st.sampled_from([0, 3]), there=st.sets(NAMES, max_size=3)
    )
    def start(self, page_size: int, resync_period: float, there: set[str]) -> None:
        for name in sorted(there):
            self.source.add(obj(name, 0))

        async def start() -> None:
            self.informer: SharedIndexInformer[dict[str, Any]] = SharedIndexInformer(
                self.source,
                dict,
                resync_period=resync_period,
                indexers={"namespace": meta_namespace_index_func},
                options=InformerOptions(
                    queue=self.queue,
                    page_size=page_size,
                    watch_error_handler=lambda *_: None,
                    random=lambda: 0.5,
                ),
                clock=self.clock,
            )
            self.add_handler_now(slow=False)
            self.add_handler_now(slow=True)
            self.task = asyncio.create_task(self.informer.run())
            await self.clock.settle()

        self.run(start())

    # --- what happens

    @rule(name=NAMES, silently=st.booleans(), content=st.integers(0, 9))
    def put(self, name: str, silently: bool, content: int) -> None:
        key = f"ns/{name}"
        change = self.source.modify if key in self.source else self.source.add
        kind: Any = "MODIFIED" if key in self.source else "ADDED"
        changed = change(obj(name, 0, content=content), silently=silently)
        self.remember(WatchEvent(kind, changed), silently)

    @rule(name=NAMES, silently=st.booleans())
    def delete(self, name: str, silently: bool) -> None:
        if f"ns/{name}" in self.source:
            self.remember(WatchEvent("DELETED", self.source.delete(f"ns/{name}", silently=silently)), silently)

    @rule(name=NAMES, silently=st.booleans())
    def make_again(self, name: str, silently: bool) -> None:
        """Deleted and created in one go: who does not watch sees one update, or two events."""
        self.delete(name, silently)
        self.put(name, silently, 0)

    @precondition(lambda self: self.past and not self.silent)
    @rule(times=st.integers(1, 3), back=st.integers(1, 5))
    def repeat(self, times: int, back: int) -> None:
        """The last event comes again, or one of those before it (etcd#17247, etcd#20221)."""
        for _ in range(times):
            self.source.send(self.past[-min(back, len(self.past))])

    @rule()
    def bookmark(self) -> None:
        if not self.silent:
            self.source.send_bookmark()

    @rule()
    def nonsense(self) -> None:
        self.source.send(WatchEvent("DELETED", event("DELETED", "never-there", self.source.resource_version).object))

    # --- what goes wrong

    @rule(error=st.sampled_from([None, expired(), ConnectionLost("https://server", "reset"), status_error(500, "")]))
    def end_watches(self, error: Any) -> None:
        self.source.end_watches(error)

    @rule()
    def forget(self) -> None:
        self.source.forget_history()

    @rule(error=st.sampled_from([None, expired(), status_error(429, "TooManyRequests"), status_error(500, "")]))
    def refuse_lists(self, error: Any) -> None:
        self.source.list_error = error

    @rule(error=st.sampled_from([None, expired(), ServerUnreachable("https://server", ConnectionRefusedError())]))
    def refuse_watches(self, error: Any) -> None:
        self.source.watch_error = error

    # --- time, and handlers

    @rule(seconds=st.sampled_from([0.0, 0.3, 2.0, LONG]))
    def wait(self, seconds: float) -> None:
        self.run(self.clock.advance(seconds))

    @rule(turns=st.integers(1, 5))
    def a_few_turns(self, turns: int) -> None:
        async def turn() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.run(turn())

    @rule(slow=st.booleans())
    def add_handler(self, slow: bool) -> None:
        async def add() -> None:
            self.add_handler_now(slow)

        self.run(add())

    @precondition(lambda self: self.handlers)
    @rule(data=st.data())
    def remove_handler(self, data: st.DataObject) -> None:
        handler = data.draw(st.sampled_from(range(len(self.handlers))))
        _, registration = self.handlers.pop(handler)
        self.informer.remove_event_handler(registration)

    def add_handler_now(self, slow: bool) -> None:
        handler = SlowHistorian(self.clock) if slow else Historian()
        self.handlers.append((handler, self.informer.add_event_handler(handler)))

    # --- what is always so

    @invariant()
    def no_handler_saw_what_cannot_be(self) -> None:
        assert [fault for handler, _ in self.handlers for fault in handler.faults] == []

    @invariant()
    def it_runs(self) -> None:
        assert not hasattr(self, "task") or not self.task.done(), self.task

    def teardown(self) -> None:
        """The server is well again: the store ends like it, and so does what each handler knows."""
        if not hasattr(self, "task"):
            self.loop.close()
            return
        self.source.list_error = self.source.watch_error = None
        self.run(self.clock.advance(3 * LONG))
        if self.silent:  # only a list can find out what a watch has kept to itself
            self.source.end_watches(expired())
            self.run(self.clock.advance(3 * LONG))
        try:
            want = sorted(map(short, self.source))
            assert sorted(map(short, self.informer.indexer.list())) == want
            assert sorted(map(short, self.informer.indexer.by_index("namespace", "ns"))) == want
            assert self.informer.has_synced
            for handler, registration in self.handlers:
                assert registration.has_synced
                assert handler.faults == []
                assert sorted(map(short, handler.known.values())) == want
        finally:
            self.run(self.stop())
            self.loop.close()
        assert self.clock.next_due is None

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])

    def remember(self, happened: WatchEvent[dict[str, Any]], silently: bool) -> None:
        self.past.append(happened)
        self.silent = self.silent or silently


class RealQueueMachine(InformerMachine):
    queue = "real"


class StreamingListMachine(InformerMachine):
    supports_watch_list = True


class RealQueueStreamingListMachine(RealQueueMachine):
    supports_watch_list = True


SETTINGS = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
for machine in (InformerMachine, RealQueueMachine, StreamingListMachine, RealQueueStreamingListMachine):
    machine.TestCase.settings = SETTINGS

TestDeltaFIFO = InformerMachine.TestCase
TestRealFIFO = RealQueueMachine.TestCase
TestDeltaFIFOWithStreamingLists = StreamingListMachine.TestCase
TestRealFIFOWithStreamingLists = RealQueueStreamingListMachine.TestCase
