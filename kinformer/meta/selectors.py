"""Label selectors: select objects by their labels.

They are made from text (a query's ``labelSelector``), from LabelSelector objects (a Deployment's, as a model or dict),
or from plain maps (a Service's, a ReplicationController's). A selector is immutable, and compiled when it is made:
informers, endpoints and quota match it against every pod, and make it rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from kinformer.meta._selector_text import parse_requirements
from kinformer.meta.reading import read
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


class Selector:
    """
    Several requirements, which must all be met. A selector without requirements matches every object.

    :ivar matches: whether labels match (None means no labels). It is a plain function, for hot paths.
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
        """Whether it has no requirements, and so matches every object."""
        return not self.requirements

    def add(self, *requirements: Requirement) -> Selector:
        """A selector with further requirements."""
        return Selector((*self.requirements, *requirements))

    @property
    def required_labels(self) -> tuple[tuple[str, str], ...]:
        """The labels that must have one certain value, with that value."""
        return tuple((each.key, each.values[0]) for each in self.requirements if each.is_exact)

    def required_value(self, key: str) -> str | None:
        """The value that a label must have; None if no requirement demands one value."""
        for requirement in self.requirements:
            if requirement.key == key:
                return requirement.values[0] if requirement.is_exact else None
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
    Parse a selector: ``app=web,tier in (a,b),!canary``. An empty text matches every object.

    :raises SelectorError: (a ValueError) if the text is not a selector, with the message of an API server
    """
    return Selector(parse_requirements(text))


def selector_from_set(labels: Labels) -> Selector:
    """
    Make a selector of exactly these labels, like that of a Service or ReplicationController. None matches every object.

    The labels are not checked, because the server that holds the object has checked them.
    """
    if not labels:
        return Everything
    return Selector(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


def label_selector_as_selector(label_selector: Any) -> Selector:
    """
    Make the selector of a LabelSelector: a model, a Struct or a dict. None matches nothing; an empty one everything.

    :raises SelectorError: (a ValueError) if a requirement is invalid, or a part of it has the wrong type
    """
    if label_selector is None:
        return Nothing
    try:
        expressions = tuple(
            (read(it, "key") or "", read(it, "operator") or "", tuple(read(it, "values") or ()))
            for it in read(label_selector, "matchExpressions") or ()
        )
        return _selector_of(tuple((read(label_selector, "matchLabels") or {}).items()), expressions)
    except (AttributeError, TypeError):
        raise SelectorError(f"not a label selector: {label_selector!r:.200}") from None


# A sync makes its owner's selector anew. 2.5 us if it is remembered, 12.9 us if not, which is each time if the syncs go
# through more selectors than are kept: 5,000 Deployments have three each, with ReplicaSets and budgets. 1.1 KB each.
@lru_cache(maxsize=2**15)
def _selector_of(
    labels: tuple[tuple[str, str], ...], expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
) -> Selector:
    requirements = [Requirement.checked(key, Operator.EQUALS, (value,)) for key, value in labels]
    for key, name, values in expressions:
        operator = _OBJECT_OPERATORS.get(name)
        if operator is None:
            raise SelectorError(f'"{name}" is not a valid label selector operator')
        requirements.append(Requirement.checked(key, operator, values))
    return Selector(requirements) if requirements else Everything


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Labels], bool]:
    if not requirements:
        return lambda labels: True
    if all(requirement.is_exact for requirement in requirements):
        # Most selectors have one or two pairs. Written out, these take 100-120 ns; a loop takes 250.
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


#: Matches every object. Its text is empty.
Everything: Final = Selector()

#: Matches no object. Its text is empty too, because a query cannot ask for nothing.
Nothing: Final[Selector] = _NothingSelector()
