"""Which autoscalers select the same pods: two autoscalers of one pod would work against each other.

In: the selector of each autoscaler's target. Out: the autoscalers that select a pod. Selectors are found by one label
that they require. So a namespace with thousands of autoscalers needs no more time for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kinformer.meta import Selector
from kinformer.meta.requirement import Operator
from kinformer.models import V1Pod

__all__ = ("TargetSelectors", "required_label")

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)


class TargetSelectors:
    """The selectors of the targets of all autoscalers, by the autoscaler's key."""

    def __init__(self) -> None:
        self._selectors: dict[str, Selector | None] = {}
        #: By namespace and a required label: the keys of autoscalers. The label is None for selectors without one.
        self._by_label: dict[tuple[str, tuple[str, str] | None], set[str]] = {}
        self._in_namespace: Counter[str] = Counter()

    def count(self, namespace: str) -> int:
        """How many autoscalers a namespace has."""
        return self._in_namespace[namespace]

    def register(self, key: str) -> bool:
        """Note that there is an autoscaler. Its selector is not known yet. Returns whether it is new."""
        if key in self._selectors:
            return False
        self._selectors[key] = None
        self._in_namespace[key.partition("/")[0]] += 1
        return True

    def put(self, key: str, selector: Selector) -> None:
        """Note an autoscaler's selector. An autoscaler that is gone is ignored."""
        if key not in self._selectors or self._selectors[key] == selector:
            return
        self._take(key)
        self._selectors[key] = selector
        self._by_label.setdefault(_place(key, selector), set()).add(key)

    def forget(self, key: str) -> bool:
        """Forget an autoscaler that is gone. Returns whether it was known."""
        if key not in self._selectors:
            return False
        self._take(key)
        del self._selectors[key]
        self._in_namespace -= Counter([key.partition("/")[0]])
        return True

    def selecting(self, namespace: str, pods: Iterable[V1Pod]) -> list[str]:
        """The sorted keys of the autoscalers that select one of these pods."""
        found: set[str] = set()
        for labels in {frozenset((pod.metadata.labels or {}).items()) for pod in pods}:
            candidates: set[str] = set()
            for label in (None, *labels):
                candidates |= self._by_label.get((namespace, label), set())
            of_pod: Mapping[str, str] = dict(labels)
            found |= {key for key in candidates - found if self._matches(key, of_pod)}
        return sorted(found)

    def _matches(self, key: str, labels: Mapping[str, str]) -> bool:
        selector = self._selectors[key]
        return selector is not None and selector.matches(labels)

    def _take(self, key: str) -> None:
        selector = self._selectors.get(key)
        if selector is None:
            return
        place = _place(key, selector)
        self._by_label[place].discard(key)
        if not self._by_label[place]:
            del self._by_label[place]


def required_label(selector: Selector) -> tuple[str, str] | None:
    """A label that a selector requires, with its value; None if it requires no single value of any label."""
    exact = next((one for one in selector.requirements if one.operator in _EXACT and len(one.values) == 1), None)
    return (exact.key, exact.values[0]) if exact is not None else None


def _place(key: str, selector: Selector) -> tuple[str, tuple[str, str] | None]:
    return key.partition("/")[0], required_label(selector)
