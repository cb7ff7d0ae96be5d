"""Selection: the namespaces and selectors of the objects that an informer of a factory holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kinformer.arguments import want_plain_function, want_several, want_text
from kinformer.cache import TransformFunc
from kinformer.client import ListOptions

__all__ = ("EVERYTHING", "Namespaces", "Selection", "by_namespace", "check_transform")

#: Names of namespaces; as a mapping, with selectors for each of them.
Namespaces: TypeAlias = "Collection[str] | Mapping[str, Selection]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """
    The objects of one type that an informer holds, and the transform that is applied to each.

    :param namespace: only objects of this namespace; None: the factory's setting
    :param namespaces: only objects of these namespaces; None: the factory's setting
    :param label_selector: only objects that it matches, in addition to the factory's selector
    :param field_selector: likewise
    :param transform: called with each object, instead of the factory's own transform
    :raises ValueError: if a selector cannot be parsed, or the namespaces are invalid
    """

    namespace: str | None = None
    namespaces: Namespaces | None = None
    label_selector: str = ""
    field_selector: str = ""
    transform: TransformFunc[Any] | None = None

    def __post_init__(self) -> None:
        ListOptions(label_selector=self.label_selector, field_selector=self.field_selector)
        by_namespace(self.namespace, self.namespaces)
        check_transform(self.transform)


def check_transform(transform: object) -> None:
    """
    Check a transform.

    :raises TypeError: if it is async, is no function, or takes other arguments than an object
    """
    if transform is not None:
        instead = "a plain function of the object that returns what is stored"
        want_plain_function(transform, 1, "the transform of informers", instead)


def by_namespace(namespace: str | None, namespaces: Namespaces | None) -> dict[str, Selection] | None:
    """
    The selection in each namespace: ``{"": EVERYTHING}`` for all objects of all namespaces, None if both are None.

    A namespace that is named twice counts once.

    :raises TypeError: if the namespaces are a text instead of a list
    :raises ValueError: if both are given, if there is no namespace, or if one has no name; if the selection of a
        single namespace has more than selectors
    """
    want_text(namespace or "", "namespace", "a name; namespaces= takes several")
    if namespaces is None:
        return None if namespace is None else {namespace: EVERYTHING}
    if namespace:
        raise ValueError(f"namespace is {namespace!r}, and namespaces are given as well: want one of the two")
    want_several(namespaces, "namespaces", "a list of names")
    if not namespaces:
        raise ValueError("namespaces is empty: leave it out for all namespaces")
    if "" in namespaces:
        raise ValueError("a namespace has an empty name: leave out namespaces to select all of them")
    if not isinstance(namespaces, Mapping):
        return dict.fromkeys(namespaces, EVERYTHING)
    for name, selection in namespaces.items():
        if selection.namespace is not None or selection.namespaces is not None or selection.transform is not None:
            raise ValueError(f"the selection of namespace {name!r} can have selectors only")
    return dict(namespaces)


EVERYTHING: Final = Selection()
