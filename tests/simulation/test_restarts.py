"""Which restarts are played: each view with each state that it does not show, and each write at least once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kinformer.simulation.history import History
from kinformer.simulation.restarts import forms_of, places, telling

Object = Mapping[str, Any]


class Told:
    """
    The history of a process that reads ConfigMaps, and of a user.

    :ivar objects: what each change has made, with its version and the object's name
    """

    def __init__(self) -> None:
        self.history = History()
        self.objects: list[tuple[int, str, Object | None]] = []
        self.history.append(0, "manager", "request", "configmaps", detail="watch")

    def change(self, actor: str, name: str, obj: Object | None) -> None:
        """Append a change."""
        self.objects.append((len(self.objects) + 1, name, obj))
        self.history.append(0, actor, "write", name, len(self.objects))

    def write(self, *changes: tuple[str, Object | None], verb: str = "update") -> None:
        """Append a request of the process, its changes, and the answer."""
        self.history.append(0, "manager", "request", "", detail=verb)
        for name, obj in changes:
            self.change("manager", name, obj)
        self.history.append(0, "manager", "answer", "", detail=f"{verb} 200")

    @property
    def telling(self) -> list[tuple[int, int]]:
        return telling(self.history, "manager", forms_of(self.objects))

    @property
    def places(self) -> list[tuple[int, int]]:
        return places(self.history, "manager")


def made(name: str = "a", uid: str = "first", generate: str = "", **parts: Any) -> Object:
    metadata = {"name": name, "uid": uid, **({"generateName": generate} if generate else {})}
    return {"metadata": metadata, **parts}


A, B = "configmaps/default/a", "configmaps/default/b"


def test_a_restart_is_possible_after_each_write_on_each_version() -> None:
    told = Told()
    told.change("server", B, made("b"))
    told.change("user", A, made())
    told.write((A, made(data={"x": "1"})))
    told.write((A, made(data={"x": "2"})))

    assert told.places == [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3)]
    assert told.telling == told.places


def test_a_request_that_makes_two_changes_is_one_write() -> None:
    told = Told()
    told.change("user", A, made())
    told.write((A, made(data={"x": "1"})), (A, None), verb="delete")

    assert told.places == [(1, 1), (1, 2), (1, 3)]


def test_a_change_without_a_write_request_of_the_process_is_no_place() -> None:
    told = Told()
    told.change("user", A, made())
    told.write((B, made("b")), verb="list")

    assert told.places == []


def test_views_that_are_equal_are_played_once() -> None:
    told = Told()
    told.change("user", "configmaps/default/web-bcdfg", made("web-bcdfg", generate="web-"))
    told.change("user", "configmaps/default/web-bcdfg", None)
    told.change("user", "configmaps/default/web-zzzzz", made("web-zzzzz", "second", generate="web-"))
    told.write((A, made()))

    # With the first ConfigMap or the second one the view is the same, and so it is without any.
    assert told.places == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert told.telling == [(1, 3), (1, 4)]


def test_resources_that_the_process_does_not_read_make_no_view() -> None:
    told = Told()
    told.change("user", A, made())
    told.change("user", "secrets/default/s", made("s"))
    told.change("user", "secrets/default/s", None)
    told.write((A, made(data={"x": "1"})))

    assert told.telling == [(1, 1), (1, 4)]


def test_another_status_of_what_is_there_is_no_other_state() -> None:
    told = Told()
    told.change("user", A, made())
    for count in range(3):
        told.write((B, made("b", status={"count": count})))

    # Each view with B, whatever its status is there, and each write.
    assert told.places == [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (3, 4)]
    assert told.telling == [(1, 1), (1, 2), (2, 1), (3, 1)]


@pytest.mark.parametrize(("uid", "is_played"), [("first", False), ("second", True)])
def test_another_object_of_a_name_is_another_state(uid: str, is_played: bool) -> None:
    told = Told()
    told.change("user", A, made())
    told.write((A, made(data={"x": "1"})))
    told.write((A, None))
    told.write((A, made(uid=uid, data={"x": "1"})))

    # The first version is seen. With the same uid, it was seen so after the first write, too.
    assert ((3, 3) in told.telling) is is_played


def test_a_change_of_unknown_form_is_like_no_other() -> None:
    told = Told()
    told.change("user", A, made())
    told.write((A, made()))
    told.write((A, made()))

    assert telling(told.history, "manager", {}) == told.places
    assert telling(told.history, "manager", forms_of(told.objects)) != told.places
