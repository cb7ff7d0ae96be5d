"""The selectors of targets: which pods they select, and which autoscalers select the same ones.

Two autoscalers of one pod would work against each other. Selectors and pods are found by one label that a selector
requires. So a namespace with thousands of autoscalers needs no more time for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from kinformer.meta import Selector, parse_selector
from kinformer.models import V1Pod

__all__ = ("Labelled", "TargetSelectors")

T = TypeVar("T")


class TargetSelectors:
    """The selectors of the targets of all autoscalers, by the autoscaler's key."""

    def __init__(self) -> None:
        #: With their texts. None: not known yet.
        self._selectors: dict[str, tuple[str, Selector] | None] = {}
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

    def put(self, key: str, text: str) -> Selector:
        """
        Note an autoscaler's selector, and return it. For an autoscaler that is gone, it is only returned.

        :param text: the text of the selector. It is parsed only if it has changed
        :raises SelectorError: if it is not a selector
        """
        known = self._selectors.get(key)
        if known is not None and known[0] == text:
            return known[1]
        selector = parse_selector(text)
        if key in self._selectors:
            self._take(key)
            self._selectors[key] = text, selector
            self._by_label.setdefault(_place(key, selector), set()).add(key)
        return selector

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
        known = self._selectors[key]
        return known is not None and known[1].matches(labels)

    def _take(self, key: str) -> None:
        known = self._selectors.get(key)
        if known is None:
            return
        place = _place(key, known[1])
        self._by_label[place].discard(key)
        if not self._by_label[place]:
            del self._by_label[place]


class Labelled(Generic[T]):
    """
    Objects of one namespace that many selectors select from. It finds them by one label that a selector requires.

    :param items: they must not be changed
    """

    def __init__(self, items: Sequence[T], labels_of: Callable[[T], Mapping[str, str] | None]) -> None:
        self._items = items
        self._labels_of = labels_of
        #: By a label's key: the objects by its value.
        self._by_label: dict[str, dict[str, list[T]]] = {}

    def selected(self, selector: Selector) -> list[T]:
        """The objects that a selector matches."""
        label = _required_label(selector)
        candidates = self._items if label is None else self._by(label[0]).get(label[1], ())
        return [item for item in candidates if selector.matches(self._labels_of(item))]

    def _by(self, key: str) -> dict[str, list[T]]:
        found = self._by_label.get(key)
        if found is None:
            found = self._by_label[key] = {}
            for item in self._items:
                if (value := (self._labels_of(item) or {}).get(key)) is not None:
                    found.setdefault(value, []).append(item)
        return found


def _required_label(selector: Selector) -> tuple[str, str] | None:
    """A label that a selector requires, with its value; None if it requires no single value of any label."""
    return next(iter(selector.required_labels), None)


def _place(key: str, selector: Selector) -> tuple[str, tuple[str, str] | None]:
    return key.partition("/")[0], _required_label(selector)
