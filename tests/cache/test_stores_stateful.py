"""Any sequence of operations: the store against a naive model of it, the queues against a server and a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.cache import DeletedFinalStateUnknown, Delta, DeltaFIFO, DeltaType, Indexer, RealFIFO
from tests.cache.objects import POD, Pod, pod

names = st.sampled_from("abcde")
some_colours = st.lists(st.sampled_from(["red", "green", "blue"]), max_size=3)


def colours(obj: Pod) -> list[str]:
    return [colour for colour in obj.metadata.labels.get("colours", "").split(",") if colour]


def first(obj: Pod) -> str:
    return colours(obj)[0] if colours(obj) else "none"


INDEXERS = {"colours": colours, "first": first}


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store: Indexer[Pod] = Indexer(POD, {"colours": colours})
        self.model: dict[str, Pod] = {}
        self.version = 0

    def made(self, name: str, has: list[str]) -> Pod:
        self.version += 1
        return pod(name, self.version, colours=",".join(has))

    @rule(name=names, has=some_colours)
    def update(self, name: str, has: list[str]) -> None:
        obj = self.made(name, has)
        assert self.store.update(obj) == self.model.get(name)
        self.model[name] = obj

    @rule(name=names, as_tombstone=st.booleans())
    def delete(self, name: str, as_tombstone: bool) -> None:
        gone = DeletedFinalStateUnknown(name, None) if as_tombstone else pod(name)
        assert self.store.delete(gone) == self.model.pop(name, None)

    @rule(listed=st.dictionaries(names, some_colours))
    def replace(self, listed: dict[str, list[str]]) -> None:
        self.model = {name: self.made(name, has) for name, has in listed.items()}
        self.store.replace(list(self.model.values()), str(self.version))

    @precondition(lambda self: "first" not in self.store.get_indexers())
    @rule()
    def add_an_index(self) -> None:
        self.store.add_indexers({"first": first})

    @rule(has=some_colours)
    def look_up(self, has: list[str]) -> None:
        question = pod("question", colours=",".join(has))
        expected = [obj for obj in self.model.values() if set(has) & set(colours(obj))]
        assert by_name(self.store.index("colours", question)) == by_name(expected)

    @invariant()
    def everything_is_where_it_should_be(self) -> None:
        assert by_name(self.store.list()) == by_name(self.model.values())
        assert sorted(self.store.list_keys()) == sorted(self.model)
        assert len(self.store) == len(self.model)
        for index in self.store.get_indexers():
            values = {value: set[str]() for obj in self.model.values() for value in values_of(index, obj)}
            for name, obj in self.model.items():
                for value in values_of(index, obj):
                    values[value].add(name)
            assert sorted(self.store.list_index_func_values(index)) == sorted(values)
            for value, expected in values.items():
                assert sorted(self.store.index_keys(index, value)) == sorted(expected)
                assert by_name(self.store.by_index(index, value)) == [self.model[name] for name in sorted(expected)]


def values_of(index: str, obj: Pod) -> list[str]:
    return colours(obj) if index == "colours" else [first(obj)]


def by_name(pods: Any) -> list[Pod]:
    return sorted(pods, key=POD.name)


class QueueMachine(RuleBasedStateMachine):
    """A server, a watch that may miss events until the next list, a queue, and the store behind it."""

    queue: DeltaFIFO[Pod] | RealFIFO[Pod]

    def __init__(self) -> None:
        super().__init__()
        self.server: dict[str, Pod] = {}
        self.store: Indexer[Pod] = Indexer(POD)
        self.seen: dict[str, int] = {}
        self.version = 0
        self.missed = False
        self.listed = False

    @initialize(real=st.booleans(), replaced=st.booleans())
    def make(self, real: bool, replaced: bool) -> None:
        if real:
            self.queue = RealFIFO(POD, self.store)
        else:
            self.queue = DeltaFIFO(POD, self.store, emit_delta_type_replaced=replaced)

    @rule(name=names, watched=st.booleans())
    def change(self, name: str, watched: bool) -> None:
        self.version += 1
        known = name in self.server
        self.server[name] = obj = pod(name, self.version)
        if self.hears(watched):
            (self.queue.update if known else self.queue.add)(obj)

    @precondition(lambda self: self.server)
    @rule(data=st.data(), watched=st.booleans())
    def remove(self, data: st.DataObject, watched: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.server)))
        self.version += 1
        del self.server[name]
        if self.hears(watched):
            self.queue.delete(pod(name, self.version))

    def hears(self, watched: bool) -> bool:
        # Nothing is watched before the first list, or between an event that was missed and the next list.
        self.missed = self.missed or not watched
        return self.listed and not self.missed

    @rule(in_parts=st.booleans())
    def list(self, in_parts: bool) -> None:
        self.listed, self.missed = True, False
        for _ in self.queue.replacing(list(self.server.values()), str(self.version)):
            if in_parts:
                self.pop(3)

    @rule()
    def resync(self) -> None:
        self.queue.resync()

    @rule(count=st.integers(1, 4))
    def pop(self, count: int) -> None:
        self.queue.drain(self.process, count)

    @rule()
    def pop_a_batch(self) -> None:
        if isinstance(self.queue, RealFIFO):
            self.queue.pop_batch_nowait(self.process_batch, self.process)

    def process(self, deltas: Sequence[Delta], in_initial_list: bool) -> None:
        assert len({delta.key for delta in deltas}) == 1
        assert in_initial_list or self.queue.has_synced
        for delta in deltas:
            self.apply(delta)

    def process_batch(self, deltas: Sequence[Delta], in_initial_list: bool) -> None:
        assert len({delta.key for delta in deltas}) == len(deltas)
        for delta in deltas:
            self.apply(delta)

    def apply(self, delta: Delta) -> None:
        if delta.type is DeltaType.DELETED:
            if isinstance(delta.object, DeletedFinalStateUnknown):
                assert delta.object.obj is not None
            self.store.delete(delta.object)
            return
        version = int(POD.resource_version(delta.object))
        assert version >= self.seen.get(delta.key, 0), "an object went back in time"
        self.seen[delta.key] = version
        self.store.update(delta.object)

    @invariant()
    def a_queue_that_has_been_emptied_after_a_list_leaves_the_servers_state(self) -> None:
        if self.listed and not self.missed and not len(self.queue):
            assert by_name(self.store.list()) == by_name(self.server.values())
            assert self.queue.has_synced

    def teardown(self) -> None:
        if hasattr(self, "queue"):
            self.list(in_parts=False)
            self.pop(1000)
            assert by_name(self.store.list()) == by_name(self.server.values())


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestQueues = QueueMachine.TestCase
TestQueues.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
