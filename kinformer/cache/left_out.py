"""What an informer leaves out, and who is told: the log once for each object, Prometheus each time.

One object that a transform, a key function or an index function cannot take stops no other one. It is left out of what
it does not fit into, and as it may come again with every change and every list, it is logged once.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

from kinformer.logs import get_logger

__all__ = ("LeftOut", "objects_left_out_total")

log = get_logger(__name__)

objects_left_out_total: Final = Counter(
    "informer_objects_left_out_total",
    "Number of times that an object, or a change of it, was left out of an informer's cache or of one of its indexes.",
    ("informer", "part"),
)

#: So many objects are named in the log for one reason; all are counted.
_NAMED = 10


class LeftOut:
    """
    Tells of objects that one informer leaves out.

    :param informer: what log lines and metrics call it
    """

    __slots__ = ("_informer", "_named")

    def __init__(self, informer: str) -> None:
        self._informer = informer
        self._named: dict[str, set[str]] = {}

    def tell(self, part: str, key: str, error: Exception) -> None:
        """
        An object is left out.

        :param part: of what: ``store``, or ``index`` and the index's name
        :param key: which object; empty if nobody can tell
        :param error: why; it is being handled
        """
        objects_left_out_total.labels(self._informer, part).inc()
        named = self._named.setdefault(part, set())
        if key in named or len(named) >= _NAMED:
            return
        named.add(key)
        hint = {"hint": "further ones are only counted"} if len(named) == _NAMED else {}
        log.exception(
            "object_left_out",
            informer=self._informer,
            part=part,
            key=key,
            error=f"{type(error).__name__}: {error}",
            **hint,
        )
