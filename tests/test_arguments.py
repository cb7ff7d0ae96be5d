"""The checks of arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from kinformer.arguments import takes, want_number


class Watcher:
    def on(self, old: object, new: object, /) -> None:
        pass

    @classmethod
    def of_class(cls, one: object) -> None:
        pass

    def __call__(self, one: object, two: object = None) -> None:
        pass


def named(*, key: object) -> None:
    pass


def with_names(one: object, two: object = 1, *more: object, key: object = 2, **others: object) -> None:
    pass


@pytest.mark.parametrize(
    "function",
    [Watcher().on, Watcher.on, Watcher.of_class, Watcher(), Watcher, named, with_names, len, dict.get, lambda: 0],
)
@pytest.mark.parametrize("count", range(5))
def test_a_function_takes_what_its_signature_can_be_bound_to(function: Callable[..., Any], count: int) -> None:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        binds = False
    else:
        binds = True

    assert takes(function, count) is binds


def test_a_wrapper_is_asked_for_its_own_arguments() -> None:
    @functools.wraps(named)
    def wrapper(one: object) -> None:
        pass

    assert takes(wrapper, 1)


@pytest.mark.parametrize("given", ["1", None, True, float("nan")])
def test_what_is_no_number_is_refused_by_name(given: object) -> None:
    with pytest.raises(TypeError, match=r"qps is .*: want a number"):
        want_number(given, "qps")
