from __future__ import annotations

from typing import Any

import anyio
import pytest

from kinformer.client import NotFound, Status
from kinformer.client.errors import ConnectionLost, InternalError, ServerUnreachable
from kinformer.leaderelection import (
    LAST_WRITES_ANNOTATION,
    UNKNOWN,
    Guard,
    GuardedTransport,
    WriteRefused,
    read_last_writes,
)
from kinformer.meta import GroupResource

PODS = GroupResource("", "pods")
POD = "/api/v1/namespaces/default/pods/a"


class Server:
    """Answers a write with what it is told, or raises it."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.go = anyio.Event()
        self.go.set()

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        answer = self.answers.pop(0)
        await self.go.wait()
        if isinstance(answer, BaseException):
            raise answer
        return b'{"metadata":{"name":"x","resourceVersion":"%d"}}' % answer if isinstance(answer, int) else b"{}"


class Leader:
    def __init__(self) -> None:
        self.guard = Guard("x", lambda: 0.0)
        self.guard.open_until(1)
        self.server = Server()
        self.transport = GuardedTransport(self.server, self.guard)  # type: ignore[arg-type]

    async def write(self, answer: Any, method: str = "PUT", path: str = POD) -> None:
        self.server.answers.append(answer)
        await self.transport.request(method, path)

    def left(self) -> dict[GroupResource, str] | None:
        return read_last_writes({LAST_WRITES_ANNOTATION: self.guard.writes.note(3)}, 3)


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces/default/pods", PODS),
        ("/api/v1/namespaces/default/pods/a/status", PODS),
        ("/api/v1/nodes/n", GroupResource("", "nodes")),
        ("/api/v1/namespaces", GroupResource("", "namespaces")),
        ("/api/v1/namespaces/a/finalize", GroupResource("", "namespaces")),
        ("/apis/apps/v1/namespaces/default/deployments/d", GroupResource("apps", "deployments")),
        ("/apis/example.com/v1/things", GroupResource("example.com", "things")),
    ],
)
async def test_the_newest_version_of_each_resource_is_noted(path: str, resource: GroupResource) -> None:
    leader = Leader()
    await leader.write(12, path=path)
    await leader.write(9, "POST", path)
    assert leader.left() == {resource: "12"}


async def test_a_resource_that_was_not_written_is_not_in_it() -> None:
    leader = Leader()
    assert leader.left() == {}
    leader.guard.close()
    with pytest.raises(WriteRefused):
        await leader.write(3)
    assert leader.left() == {}


@pytest.mark.parametrize(
    "error", [ServerUnreachable("u", "refused"), NotFound(Status(code=404)), WriteRefused("PUT", "x")]
)
async def test_a_write_that_was_not_carried_out_changes_nothing(error: Exception) -> None:
    leader = Leader()
    await leader.write(5)
    with pytest.raises(type(error)):
        await leader.write(error)
    assert leader.left() == {PODS: "5"}


@pytest.mark.parametrize("error", [ConnectionLost("u", "cut"), InternalError(Status(code=500))])
async def test_of_a_write_whose_outcome_is_not_known_the_version_never_is(error: Exception) -> None:
    leader = Leader()
    with pytest.raises(type(error)):
        await leader.write(error)
    await leader.write(5)
    assert leader.left() == {PODS: UNKNOWN}


async def test_a_deletion_has_no_version_until_a_write_after_it_has_one() -> None:
    leader = Leader()
    await leader.write(5)
    await leader.write(5, "DELETE")
    assert leader.left() == {PODS: UNKNOWN}
    await leader.write(7)
    assert leader.left() == {PODS: "7"}


async def test_a_write_that_is_under_way_or_was_cancelled_is_not_known() -> None:
    leader = Leader()
    leader.server.go = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leader.write, 5)
        await anyio.lowlevel.checkpoint()
        assert leader.left() == {PODS: UNKNOWN}
        tasks.cancel_scope.cancel()
    assert leader.left() == {PODS: UNKNOWN}


@pytest.mark.parametrize("annotations", [{}, {LAST_WRITES_ANNOTATION: "{"}, {LAST_WRITES_ANNOTATION: "[]"}])
def test_what_is_no_note_is_none(annotations: dict[str, str]) -> None:
    assert read_last_writes(annotations, 3) is None


async def test_a_note_of_another_term_is_none() -> None:
    leader = Leader()
    await leader.write(5)
    assert read_last_writes({LAST_WRITES_ANNOTATION: leader.guard.writes.note(3)}, 4) is None
