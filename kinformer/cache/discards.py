"""Discards: finds informers that hold many objects and whose handlers want nearly none of them.

A filter of a handler is applied after every object was sent, decoded and stored. A selector is applied by the server.
So a program that wants 50 pods of 50,000 and filters them itself needs the memory and the time for all of them. The
informer checks this once, when it has synced, and its log names the label that would select the same objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kinformer.logs import get_logger

__all__ = ("FEW", "MANY", "selector_for", "warn_of_discards")

T = TypeVar("T")

log = get_logger(__name__)

#: An informer with fewer objects costs too little to be worth a warning.
MANY: Final = 1000

#: Handlers that want at most this share of the objects want nearly none of them.
FEW: Final = 0.05

#: About this many objects are looked at, so that the event loop is not held up.
_SAMPLE: Final = 2000


def warn_of_discards(
    informer: str,
    handlers: Sequence[tuple[str, object]],
    objects: Sequence[T],
    labels_of: Callable[[T], Mapping[str, str]],
) -> None:
    """
    Log a warning if all handlers of an informer together want nearly none of its objects.

    :param handlers: the handlers, each with its name. A handler without a method `wants` counts as one that wants
        everything
    """
    asked = [wants for _, handler in handlers if (wants := getattr(handler, "wants", None)) is not None]
    if len(objects) < MANY or not handlers or len(asked) < len(handlers):
        return
    sample = objects[:: max(1, len(objects) // _SAMPLE)]
    try:
        wanted = [obj for obj in sample if any(wants(obj) for wants in asked)]
    except Exception:  # the same error is logged when the handler is called
        return
    if not wanted or len(wanted) > FEW * len(sample):
        return
    selector = selector_for(map(labels_of, wanted), map(labels_of, sample), most=2 * len(wanted))
    log.warning(
        "handlers_discard_nearly_everything",
        informer=informer,
        handlers=tuple(name for name, _ in handlers),
        held=len(objects),
        wanted_percent=round(100 * len(wanted) / len(sample), 1),
        hint=f"Selection(label_selector={selector!r}) leaves the others on the server"
        if selector
        else "no label selects the wanted ones: perhaps a field selector does, or a label that you add",
    )


def selector_for(wanted: Iterable[Mapping[str, str]], every: Iterable[Mapping[str, str]], *, most: int) -> str:
    """
    The selector of one label that selects all wanted objects and the fewest others.

    It names a value if all wanted objects have the same one.

    :param wanted: the labels of the objects to select
    :param every: the labels of all objects
    :param most: the most objects that it may select
    :return: empty if no label does
    """
    first, *others = wanted
    pairs: set[tuple[str, Any]] = set(first.items())
    keys = set(first)
    for labels in others:
        pairs &= labels.items()
        keys &= labels.keys()
    had: Counter[str] = Counter()
    for labels in every:
        had.update(f"{key}={value}" for key, value in pairs & labels.items())
        had.update(keys & labels.keys())
    fitting = sorted((count, "=" not in selector, selector) for selector, count in had.items() if count <= most)
    return fitting[0][-1] if fitting else ""
