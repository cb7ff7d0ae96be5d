"""Strings that recur are held once, and those that do not are not held for ever."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from kinformer import recurring
from kinformer.models import V1Pod, decoder_for, interner_for
from kinformer.recurring import LIMIT, make_room, once


class Text(str):
    """One that can be referred to weakly."""

    __slots__ = ("__weakref__",)


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    recurring._known.clear()
    yield
    recurring._known.clear()


def test_strings_that_are_equal_are_the_one_that_came_first() -> None:
    first, second = "".join(("a", "b")), "".join(("a", "b"))
    assert first is not second

    assert once(first, first) is first
    assert once(second, second) is first


def test_no_more_strings_are_known_than_there_is_room_for() -> None:
    for number in range(3 * LIMIT):
        make_room()
        once(str(number), str(number))

        assert len(recurring._known) <= LIMIT


def test_a_string_that_does_not_recur_is_let_go_in_the_end() -> None:
    text = Text("owner-1")
    once(text, text)
    left = weakref.ref(text)
    del text

    for number in range(LIMIT):
        make_room()
        once(str(number), str(number))
    gc.collect()

    assert left() is None


def test_pods_that_come_for_ever_leave_no_strings_behind() -> None:
    decode, intern = decoder_for(V1Pod).decode, interner_for(V1Pod)
    for number in range(LIMIT):
        text = b'{"metadata":{"labels":{"a":"a%d","b":"b%d"},"ownerReferences":[{"uid":"u%d"}]}}'
        intern(decode(text % (number, number, number)))

    # Of one object more than there is room for.
    assert len(recurring._known) <= LIMIT + 3
