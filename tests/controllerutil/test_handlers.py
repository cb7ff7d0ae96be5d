from __future__ import annotations

from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.clock import FakeClock
from kinformer.controllerutil.handlers import ChangeHandler, PodHandler
from kinformer.controllerutil.owning import OwnerId
from kinformer.models import V1Pod
from tests.controllers.objects import make_pod

READY = FakeClock().now()


class Wakes:
    """A queue that notes what is added to it, and with which delay."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def add(self, key: str) -> None:
        self.noted.append(key)

    def add_after(self, key: str, seconds: float) -> None:
        self.noted.append(f"{key} in {seconds} s")


class OneOwner:
    """The owner of all pods."""

    def __init__(self, min_ready_seconds: int) -> None:
        self._min_ready_seconds = min_ready_seconds

    def owner_of(self, pod: V1Pod) -> OwnerId:
        return OwnerId("ns/web", "uid-web")

    def candidates_for(self, pod: V1Pod) -> list[str]:
        return []

    def min_ready_seconds(self, owner: OwnerId) -> int:
        return self._min_ready_seconds


@pytest.mark.parametrize(
    ("min_ready_seconds", "was_ready", "is_ready", "later"),
    [(1, False, True, ["ns/web in 1 s"]), (1, True, True, []), (1, True, False, []), (0, False, True, [])],
)
def test_an_owner_is_woken_again_when_a_ready_pod_becomes_available(
    min_ready_seconds: int, was_ready: bool, is_ready: bool, later: list[str]
) -> None:
    queue: Any = Wakes()
    old, new = (make_pod("a", ready_since=READY if ready else None) for ready in (was_ready, is_ready))

    PodHandler(queue, None, OneOwner(min_ready_seconds)).on_update(old, new)

    assert queue.noted == ["ns/web", *later]


@pytest.mark.parametrize(("counts_only", "added"), [(False, ["ns/web"]), (True, [])])
def test_an_owner_that_only_counts_sleeps_through_other_changes(counts_only: bool, added: list[str]) -> None:
    queue: Any = Wakes()
    old, new = make_pod("a"), make_pod("a")
    assert new.status is not None
    new.status.message = "something else"

    PodHandler(queue, None, OneOwner(0), counts_only=counts_only).on_update(old, new)

    assert queue.noted == added


def test_one_function_is_called_with_the_states_around_each_change() -> None:
    changes: list[tuple[Any, Any]] = []
    handler, old, new = ChangeHandler(lambda *states: changes.append(states)), make_pod("a"), make_pod("b")

    handler.on_add(old, True)
    handler.on_update(old, new)
    handler.on_delete(new)
    handler.on_delete(DeletedFinalStateUnknown("ns/b", old))
    handler.on_delete(DeletedFinalStateUnknown("ns/b", None))

    assert changes == [(None, old), (old, new), (new, None), (old, None)]
