from __future__ import annotations

from kinformer.client.errors import Status, StatusCause, StatusDetails, error_from_status
from kinformer.controllerutil.batches import write_children
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import OwnerId
from tests.controllers.objects import forbidden, not_found

OWNER = OwnerId("ns/web", "u1")

NAMESPACE_TERMINATING = error_from_status(
    Status(
        code=403,
        reason="Forbidden",
        message="the namespace is being terminated",
        details=StatusDetails(causes=[StatusCause(reason="NamespaceTerminating")]),
    )
)


async def test_each_new_object_may_differ_and_deletions_are_expected_beside_it() -> None:
    expectations = Expectations()
    made: list[str] = []
    gone: list[str] = []

    async def create(node: str) -> None:
        # Both are expected before the first write.
        assert expectations.awaited_deletions(OWNER) == {"ns/old"}
        made.append(node)

    async def delete(name: str) -> None:
        gone.append(name)

    written = await write_children(
        expectations,
        OWNER,
        creations=["n1", "n2", "n3"],
        create=create,
        deletions=["old"],
        delete=delete,
        key_of=lambda name: f"ns/{name}",
    )

    assert (made, gone) == (["n1", "n2", "n3"], ["old"])
    assert written == (3, 1, ())
    expected = expectations.get(OWNER)
    assert expected is not None
    assert (expected.creations, expected.deletions) == (3, 1)


async def test_failed_creations_are_not_expected_and_deletions_are_still_tried() -> None:
    expectations = Expectations()

    async def create(index: int) -> None:
        if index == 2:
            raise forbidden("no more")

    async def delete(name: str) -> None:
        if name == "kept":
            raise forbidden("not this one")

    written = await write_children(
        expectations, OWNER, creations=range(10), create=create, deletions=["kept", "old"], delete=delete
    )

    assert (written.created, written.deleted) == (2, 1)
    assert [str(error) for error in written.errors] == ["no more", "not this one"]
    assert str(written.error) == "no more"
    expected = expectations.get(OWNER)
    assert expected is not None
    assert (expected.creations, expected.deletions) == (2, 1)


async def test_what_was_gone_already_is_neither_an_error_nor_awaited() -> None:
    expectations = Expectations()

    async def delete(name: str) -> None:
        raise not_found()

    written = await write_children(expectations, OWNER, deletions=["a"], delete=delete, key_of=str)

    assert written == (0, 1, ())
    assert expectations.satisfied(OWNER)


async def test_a_terminating_namespace_is_no_error_and_nothing_is_retried() -> None:
    expectations = Expectations()

    async def create(index: int) -> None:
        raise NAMESPACE_TERMINATING

    written = await write_children(expectations, OWNER, creations=range(3), create=create)

    assert written.error is None
    assert not expectations.satisfied(OWNER)
