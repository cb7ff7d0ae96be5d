"""Checks of arguments: an object of a wrong type is an error at once, which names the argument and says what to pass.

A type checker finds such mistakes, too, but not everybody uses one. Without these checks, a text is taken for the list
of its letters, and another wrong object is noticed only later, by an error that does not name the argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

__all__ = (
    "takes",
    "want",
    "want_client",
    "want_count",
    "want_function",
    "want_limiter",
    "want_number",
    "want_plain_function",
    "want_seconds",
    "want_several",
    "want_text",
)


def want(given: object, is_right: bool, name: str, instead: str) -> None:
    """
    Check an argument.

    :param is_right: whether it can be used
    :param name: how the error calls the argument
    :param instead: what to pass, for example ``LeaderElection(…)``
    :raises TypeError: if it cannot be used
    """
    if not is_right:
        shown = getattr(given, "__qualname__", None) or repr(given)
        raise TypeError(f"{name} is {shown}: want {instead}")


def want_several(given: object, name: str, instead: str) -> None:
    """
    Check that an argument is a collection, and not a single value.

    :raises TypeError: if it is a text, a class, or no collection
    """
    want(given, isinstance(given, Iterable) and not isinstance(given, (str, bytes, type)), name, instead)


def want_text(given: object, name: str, instead: str) -> None:
    """
    Check that an argument is a text.

    :raises TypeError: if it is not
    """
    want(given, isinstance(given, str), name, instead)


def want_number(given: object, name: str, instead: str = "a number") -> None:
    """
    Check that an argument is a number, and not NaN: comparisons with NaN are false, so no limit would hold.

    :raises TypeError: if it is not
    """
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    want(given, is_number and given == given, name, instead)


def want_seconds(given: object, name: str) -> None:
    """
    Check that an argument is a time in seconds, and no text or timedelta.

    :raises TypeError: if it is not
    """
    want_number(given, name, "seconds, as in 15.0; a timedelta has total_seconds()")


def want_count(given: object, name: str) -> None:
    """
    Check that an argument is a whole number.

    :raises TypeError: if it is not
    """
    want(given, isinstance(given, int) and not isinstance(given, bool), name, "a whole number")


def want_client(given: object, name: str) -> None:
    """
    Check that an argument is a client. That of a ``connect()`` without its block says itself what is wrong.

    :raises TypeError: if it is not
    """
    is_client = hasattr(given, "resource") or hasattr(given, "__aenter__")
    want(given, is_client and not isinstance(given, type), name, "the client of `async with connect() as client:`")


def want_limiter(given: object, name: str) -> None:
    """
    Check that an argument is a rate limiter of a work queue.

    :raises TypeError: if it is not
    """
    is_limiter = callable(getattr(given, "when", None)) and not isinstance(given, type)
    want(given, is_limiter, name, "a rate limiter, such as ItemExponentialFailureRateLimiter(0.005, 1000.0)")


def want_function(given: object, count: int, name: str, instead: str) -> None:
    """
    Check that an argument is a function of so many arguments.

    :raises TypeError: if it is no function, or certainly takes other arguments
    """
    if callable(given) and not takes(given, count):
        called = getattr(given, "__qualname__", None) or repr(given)
        raise TypeError(f"{name} is {called}({', '.join(_signature(given).parameters)}): want {instead}")
    want(given, callable(given), name, instead)


def want_plain_function(given: object, count: int, name: str, instead: str) -> None:
    """
    Check that an argument is a function of so many arguments, and not an async one.

    :raises TypeError: if it is async, is no function, or certainly takes other arguments
    """
    want(given, not inspect.iscoroutinefunction(given), name, instead)
    want_function(given, count, name, instead)


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with so many arguments. True if it does not say which ones it takes."""
    if isinstance(function, MethodType):
        function, count = function.__func__, count + 1
    elif isinstance(call := type(function).__call__, FunctionType) and not hasattr(function, "__signature__"):
        function, count = call, count + 1  # an object that can be called
    if isinstance(function, FunctionType) and not hasattr(function, "__signature__"):
        return _is_callable_with(function, count)
    try:
        _signature(function).bind(*[None] * count)
    except ValueError:
        return True
    except TypeError:
        return False
    return True


def _is_callable_with(function: FunctionType, count: int) -> bool:
    # A signature takes 18 µs for each of a handler's three methods, and is made anew for each handler.
    code = function.__code__
    least = code.co_argcount - len(function.__defaults__ or ())
    takes_more = bool(code.co_flags & inspect.CO_VARARGS)
    needs_names = code.co_kwonlyargcount > len(function.__kwdefaults__ or ())
    return least <= count and (count <= code.co_argcount or takes_more) and not needs_names


def _signature(function: Any) -> inspect.Signature:
    # A wrapper may take other arguments than what it wraps.
    return inspect.signature(function, follow_wrapped=False)
