"""Label selectors: which objects are meant, by their labels.

They come as text (a query's ``labelSelector``), as LabelSelector objects (a Deployment's, model or dict), or as plain
maps (a Service's, a ReplicationController's). A selector is immutable and compiled when it is made: matching is what
informers, endpoints and quota do for every pod, making one is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from kinformer.meta._read import read
from kinformer.meta._selector_text import parse_requirements
from kinformer.meta.requirement import Operator, Requirement, SelectorError

__all__ = (
    "Everything",
    "Nothing",
    "Operator",
    "Requirement",
    "Selector",
    "SelectorError",
    "label_selector_as_selector",
    "parse_selector",
    "selector_from_set",
)

Labels = Mapping[str, str] | None

_NO_LABELS: Final[Mapping[str, str]] = {}

_OBJECT_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_EXACT: Final = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN})


class Selector:
    """
    All of some requirements; none are met by everything.

    :ivar matches: whether labels (None is none) are meant. A plain function, for hot paths
    :ivar requirements: sorted by key
    """

    __slots__ = ("matches", "requirements")

    matches: Callable[[Labels], bool]
    requirements: tuple[Requirement, ...]

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.matches = _compile(self.requirements)

    @property
    def is_empty(self) -> bool:
        """Whether it restricts nothing."""
        return not self.requirements

    def add(self, *requirements: Requirement) -> Selector:
        """This and more."""
        return Selector((*self.requirements, *requirements))

    def required_value(self, key: str) -> str | None:
        """The one value that a label must have, None where there is no such label."""
        for requirement in self.requirements:
            if requirement.key == key:
                exact = requirement.operator in _EXACT and len(requirement.values) == 1
                return requirement.values[0] if exact else None
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return type(self) is type(other) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        """Its canonical text, as a query takes it."""
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self)!r}>"


class _NothingSelector(Selector):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.matches = lambda labels: False

    @property
    def is_empty(self) -> bool:
        return False

    def add(self, *requirements: Requirement) -> Selector:
        return self


@lru_cache(maxsize=1024)
def parse_selector(text: str) -> Selector:
    """
    The selector that a text says: ``app=web,tier in (a,b),!canary``; an empty one is everything.

    :raises SelectorError: (a ValueError) if it says none, in the words of an API server
    """
    return Selector(parse_requirements(text))


def selector_from_set(labels: Labels) -> Selector:
    """
    Exactly those labels, as the selector of a Service or ReplicationController means them; none are everything.

    They are taken as they are: an object's selector was checked by the server that holds it.
    """
    if not labels:
        return Everything
    return Selector(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


def label_selector_as_selector(label_selector: Any) -> Selector:
    """
    The selector that a LabelSelector means: of a model, a Struct or a dict. None is nothing, an empty one everything.

    :raises SelectorError: (a ValueError) if a requirement of it is not right
    """
    if label_selector is None:
        return Nothing
    requirements = [
        Requirement.checked(key, Operator.EQUALS, (value,))
        for key, value in (read(label_selector, "matchLabels") or {}).items()
    ]
    for expression in read(label_selector, "matchExpressions") or ():
        name = read(expression, "operator") or ""
        operator = _OBJECT_OPERATORS.get(name)
        if operator is None:
            raise SelectorError(f'"{name}" is not a valid label selector operator')
        values = tuple(read(expression, "values") or ())
        requirements.append(Requirement.checked(read(expression, "key") or "", operator, values))
    return Selector(requirements) if requirements else Everything


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Labels], bool]:
    if not requirements:
        return lambda labels: True
    if all(requirement.operator in _EXACT and len(requirement.values) == 1 for requirement in requirements):
        # One or two pairs are most of what there is; written out they take 100-120 ns, in a loop 250.
        pairs = [(requirement.key, requirement.values[0]) for requirement in requirements]
        if len(pairs) == 1:
            ((key, value),) = pairs
            return lambda labels: labels is not None and labels.get(key) == value
        if len(pairs) == 2:
            (key, value), (key2, value2) = pairs
            return lambda labels: labels is not None and labels.get(key) == value and labels.get(key2) == value2
    rules = tuple(requirement.rule() for requirement in requirements)

    def matches(labels: Labels) -> bool:
        value_of = (labels or _NO_LABELS).get
        for key, values, wanted in rules:  # noqa: SIM110 - all() of a generator takes twice as long
            if (value_of(key) in values) is not wanted:
                return False
        return True

    return matches


#: Meets every object. Its text is empty.
Everything: Final = Selector()

#: Meets no object. Its text is empty too: there is no way to ask a server for nothing.
Nothing: Final[Selector] = _NothingSelector()
