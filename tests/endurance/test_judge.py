"""The judge can find fault: each rule is broken once on paper, and is kept once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kinformer.leaderelection import TERM_ANNOTATION
from kinformer.sharding import DEFAULT_GROUP, Table
from tests.endurance import judge
from tests.endurance.judge import LEASES, Late, Writes, judge_syncs

FIRST, SECOND = (f"{DEFAULT_GROUP}-{name}-1-abc" for name in ("m1", "m2"))


class Server:
    """What a server had, in the order of its versions."""

    def __init__(self) -> None:
        self.writes = Writes()
        self._version = 0

    def lease(
        self, name: str, holder: str = "", transitions: int = 0, annotations: Mapping[str, str] | None = None
    ) -> None:
        spec = {"holderIdentity": holder, "leaseTransitions": transitions}
        labels = {"kinformer.dev/shard-group": DEFAULT_GROUP} if name.startswith(DEFAULT_GROUP) else {}
        meta = {"name": name, "namespace": "kube-system", "labels": labels, "annotations": annotations or {}}
        self._saw(LEASES, {"metadata": meta, "spec": spec})

    def table(self, owner: str) -> None:
        """One member owns everything."""
        self.lease(DEFAULT_GROUP, annotations=Table((owner,) * 64).annotations())

    def write(self, writer: str, done: int = 1, key: str = "shards-1/key") -> None:
        namespace, _, name = key.partition("/")
        meta = {"name": name, "namespace": namespace, "annotations": {TERM_ANNOTATION: writer}}
        self._saw("configmaps", {"metadata": meta, "data": {"done": str(done), "seen": str(done)}})

    @property
    def found(self) -> list[str]:
        """The oracles that speak up, once both watches have come so far."""
        self.lease("other")
        self._saw("configmaps", {"metadata": {"name": "a", "namespace": "b"}})
        return [violation.oracle for violation in self.writes.violations]

    def _saw(self, resource: str, obj: dict[str, Any]) -> None:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self.writes.saw(resource, obj)


@pytest.fixture
def server() -> Server:
    return Server()


def test_a_write_of_a_former_owner_after_the_new_ones_is_found(server: Server) -> None:
    for name in (FIRST, SECOND):
        server.lease(name, name)
    server.table(FIRST)
    server.write(FIRST, 1)
    server.table(SECOND)
    server.write(SECOND, 2)
    assert server.found == []
    server.write(FIRST, 3)
    assert server.found == ["leader"]


def test_a_write_of_a_former_leader_is_found(server: Server) -> None:
    server.lease("kinformer-manager", "a", 0)
    server.write("0", 1)
    server.lease("kinformer-manager", "b", 1)
    server.write("1", 2)
    assert server.found == []
    server.write("0", 3)
    assert server.found == ["leader"]


def test_versions_decide_and_not_which_watch_is_faster(server: Server) -> None:
    late = Server()
    late._version = 1
    late.write("0", 1)  # version 2
    late._version = 0
    late.lease("kinformer-manager", "a", 0)  # version 1
    late._version = 2
    late.lease("kinformer-manager", "b", 1)
    assert late.found == []
    assert late.writes.count == 1


def test_a_count_that_goes_back_is_found(server: Server) -> None:
    server.write("0", 2)
    server.write("0", 1)
    assert server.found == ["ledger"]


#: The first one may write until 20, and is in a sync from 10 to 40: it was stopped in between.
STOPPED = ["begin 10.0 a/b 20.0", "end 40.0 a/b 20.0"]


@pytest.mark.parametrize(("begins", "found"), [(15.0, ["syncs"]), (25.0, [])])
def test_two_syncs_that_may_write_are_found(begins: float, found: list[str]) -> None:
    other = [f"begin {begins} a/b 50.0", "end 30.0 a/b 50.0"]
    violations = judge_syncs({"shards": {"m1-1": STOPPED, "m2-1": other}}, {"m1-1": 99.0, "m2-1": 99.0})
    assert [violation.oracle for violation in violations] == found


def test_a_guard_that_opens_again_does_not_end_a_sync() -> None:
    renewed = ["begin 10.0 a/b 20.0", "end 40.0 a/b 50.0"]
    other = ["begin 25.0 a/b 50.0", "end 30.0 a/b 50.0"]
    violations = judge_syncs({"shards": {"m1-1": renewed, "m2-1": other}}, {"m1-1": 99.0, "m2-1": 99.0})
    assert [violation.oracle for violation in violations] == ["syncs"]


@pytest.mark.parametrize(("died", "found"), [(12.0, []), (16.0, ["syncs"])])
def test_a_sync_without_an_end_lasts_until_the_process_died(died: float, found: list[str]) -> None:
    other = ["begin 15.0 a/b 50.0", "end 30.0 a/b 50.0"]
    evidence = {"m1-1": ["begin 10.0 a/b 20.0"], "m2-1": other}
    violations = judge_syncs({"shards": evidence}, {"m1-1": died, "m2-1": 99.0})
    assert [violation.oracle for violation in violations] == found


def test_processes_of_two_groups_may_sync_the_same_key() -> None:
    other = ["begin 15.0 a/b 50.0", "end 30.0 a/b 50.0"]
    died = {"m1-1": 99.0, "c1-1": 99.0}
    assert judge_syncs({"shards": {"m1-1": STOPPED}, "leader": {"c1-1": other}}, died) == []


def test_a_key_that_waits_too_long_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    time = 0.0
    monkeypatch.setattr(judge, "now", lambda: time)
    late = Late(promise=20.0)
    late.asks("a/b", 1)
    late.asks("a/b", 2)
    time = 21.0
    late.answered("a/b", 0)
    late.check("SIGKILL (m1)")
    late.check("SIGKILL (m1)")
    (violation,) = late.violations
    assert "a/b is not synced after 21.0 s" in violation.text
    late.answered("a/b", 2)
    assert (late.oldest, late.take_longest(), late.take_longest()) == (0.0, 21.0, 0.0)
