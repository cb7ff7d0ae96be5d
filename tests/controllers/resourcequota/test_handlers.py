from __future__ import annotations

from typing import Any

from kinformer.cache import NAMESPACE_INDEX, DeletedFinalStateUnknown, Indexer
from kinformer.meta import GroupResource, accessor_for
from kinformer.models import V1ResourceQuota, from_dict
from kinformer_controllers.resourcequota.handlers import QuotaHandler, QuotaQueues
from kinformer_controllers.shared.quota import core_registry


class Queue:
    def __init__(self) -> None:
        self.keys: list[str] = []

    def add(self, key: str) -> None:
        self.keys.append(key)


def quota(
    name: str = "q", spec: Any = None, hard: Any = None, used: Any = None, *, namespace: str = "ns", uid: str = "1"
) -> V1ResourceQuota:
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    data = {"metadata": metadata, "spec": {"hard": spec}, "status": {"hard": hard, "used": used}}
    return from_dict(V1ResourceQuota, data)


class Wired:
    """The handler and its queues over a few quotas."""

    def __init__(self, *quotas: V1ResourceQuota) -> None:
        indexer: Indexer[V1ResourceQuota] = Indexer(
            accessor_for(V1ResourceQuota), {NAMESPACE_INDEX: lambda obj: (obj.metadata.namespace,)}
        )
        for one in quotas:
            indexer.add(one)
        self.primary, self.priority = Queue(), Queue()
        primary: Any = self.primary
        priority: Any = self.priority
        self.queues = QuotaQueues(primary, priority, indexer, core_registry())
        self.handler = QuotaHandler(self.queues)

    @property
    def queued(self) -> tuple[list[str], list[str]]:
        return self.primary.keys, self.priority.keys


LIMITS = {"pods": "5"}


def test_a_quota_that_is_counted_already_waits_for_its_turn() -> None:
    wired = Wired()
    wired.handler.on_add(quota("q", LIMITS, LIMITS, {"pods": "1"}), False)
    assert wired.queued == (["ns/q"], [])


def test_a_quota_whose_limits_are_not_in_force_goes_first() -> None:
    wired = Wired()
    wired.handler.on_add(quota("new", LIMITS), False)
    wired.handler.on_add(quota("changed", LIMITS, {"pods": "4"}, {"pods": "1"}), False)
    wired.handler.on_add(quota("uncounted", LIMITS, LIMITS, {}), False)
    assert wired.queued == ([], ["ns/new", "ns/changed", "ns/uncounted"])


def test_what_nobody_can_count_is_in_no_hurry() -> None:
    wired = Wired()
    unknown = {"fish.example.com": "5"}
    wired.handler.on_add(quota("q", unknown, unknown, {}), False)
    assert wired.queued == (["ns/q"], [])


def test_updates_that_leave_the_limits_as_they_are_are_ignored() -> None:
    wired = Wired()
    wired.handler.on_update(quota("q", LIMITS), quota("q", {"pods": "5000m"}, LIMITS, {"pods": "1"}))
    assert wired.queued == ([], [])
    wired.handler.on_update(quota("q", LIMITS), quota("q", {"pods": "6"}))
    assert wired.queued == ([], ["ns/q"])


def test_a_quota_made_anew_under_the_same_name_is_a_new_one() -> None:
    wired = Wired()
    wired.handler.on_update(quota("q", LIMITS), quota("q", LIMITS, uid="2"))
    assert wired.queued == ([], ["ns/q"])


def test_a_deleted_quota_is_queued_whether_it_was_seen_or_not() -> None:
    wired = Wired()
    wired.handler.on_delete(quota("q"))
    wired.handler.on_delete(DeletedFinalStateUnknown("ns/gone", quota("gone")))
    assert wired.queued == (["ns/q", "ns/gone"], [])


def test_limits_that_are_no_quantities_are_left_to_the_sync() -> None:
    wired = Wired()
    wired.handler.on_add(quota("q", {"pods": "many"}), False)
    assert wired.queued == ([], ["ns/q"])


def test_only_the_quotas_of_a_namespace_that_limit_a_resource_are_replenished() -> None:
    wired = Wired(
        quota("pods", LIMITS, LIMITS),
        quota("services", {"services": "1"}, {"services": "1"}),
        quota("elsewhere", LIMITS, LIMITS, namespace="other"),
        quota("not-yet", LIMITS),
    )
    wired.queues.replenish(GroupResource("", "pods"), "ns")
    wired.queues.replenish(GroupResource("", "unheard-of"), "ns")
    assert wired.queued == (["ns/pods"], [])


def test_a_resource_that_can_be_counted_now_has_its_quotas_counted_everywhere() -> None:
    wired = Wired(quota("q", {"count/secrets": "1"}), quota("r", LIMITS), quota("s", {"secrets": "1"}, namespace="b"))
    wired.queues.resource_found(GroupResource("", "secrets"))
    assert wired.queued == ([], ["ns/q", "b/s"])


def test_a_full_recount_is_of_everything() -> None:
    wired = Wired(quota("a"), quota("b", namespace="other"))
    wired.queues.add_all()
    assert sorted(wired.primary.keys) == ["ns/a", "other/b"]


def test_in_a_full_recount_an_urgent_quota_is_queued_once() -> None:
    used = dict.fromkeys(LIMITS, "0")
    wired = Wired(quota("a", LIMITS), quota("b", LIMITS, LIMITS, used))
    wired.queues.add_all()
    assert wired.queued == (["ns/b"], ["ns/a"])
