"""Left-out objects: those that a transform, a key function or an index function fails for.

One such object does not stop the others. It is left out of the cache, or of the index that its function failed for. It
may come again with every change and every list, so the log names it once, and a metric counts it each time.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

from kinformer.cluster import in_cluster
from kinformer.logs import get_logger, typed_error_text

__all__ = ("LeftOut", "objects_left_out_total")

log = get_logger(__name__)

objects_left_out_total: Final = Counter(
    "informer_objects_left_out_total",
    "Number of times that an object, or a change of it, was left out of an informer's cache or of one of its indexes.",
    ("informer", "part"),
)

#: The number of objects that the log names for one reason. All are counted.
_NAMED = 10


class LeftOut:
    """
    Logs and counts the objects that one informer leaves out.

    :param informer: the informer's name in logs and metrics
    """

    __slots__ = ("_informer", "_named")

    def __init__(self, informer: str) -> None:
        self._informer = informer
        self._named: dict[str, set[str]] = {}

    def tell(self, part: str, key: str, error: Exception) -> None:
        """
        Log and count an object that is left out. Call this while the error is being handled, so that the log has it.

        :param part: what it is left out of: ``store``, or ``index`` and the index's name
        :param key: the object's key; empty if it is not known
        :param error: why the object is left out
        """
        objects_left_out_total.labels(in_cluster(self._informer), part).inc()
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
            error=typed_error_text(error),
            **hint,
        )
