"""Field selectors: select objects by some of their fields.

A query's ``fieldSelector`` compares a few fields with texts: ``status.phase!=Failed,spec.nodeName=n1``. A resource
defines which fields there are and how they are read. Here an object's fields are a mapping of names to texts. A field
that is not in the mapping is empty. The rules are those of apimachinery's fields package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from kinformer.meta.requirement import SelectorError

__all__ = ("FieldRequirement", "FieldSelector", "escape_value", "parse_field_selector")

_OPERATOR: Final = re.compile("!=|==|=")
_SPECIAL: Final = re.compile(r"[\\,=]")
# A comma separates terms unless there is a backslash before it. An escaped character of any kind is part of its term.
_TERM: Final = re.compile(r"(?:\\.|\\\Z|[^\\,])+", re.DOTALL)


class FieldRequirement(NamedTuple):
    """
    A condition on one field.

    :param equal: whether the field must have the value; False: it must have another one
    """

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{escape_value(self.value)}"


class FieldSelector:
    """
    Several requirements on fields, which must all be met. A selector without requirements matches every object.

    :ivar matches: whether an object with these fields matches. It is a plain function, for hot paths.
    """

    __slots__ = ("matches", "requirements")

    matches: Callable[[Mapping[str, str]], bool]
    requirements: tuple[FieldRequirement, ...]

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = required = tuple(requirements)

        def matches(fields: Mapping[str, str]) -> bool:
            for field, value, equal in required:  # noqa: SIM110 - all() of a generator takes twice as long
                if (fields.get(field, "") == value) is not equal:
                    return False
            return True

        self.matches = matches

    @property
    def is_empty(self) -> bool:
        """Whether it has no requirements, and so matches every object."""
        return not self.requirements

    def required_value(self, field: str) -> str | None:
        """The value that a field must have; None if no requirement demands one value."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.equal:
                return requirement.value
        return None

    def __eq__(self, other: object) -> bool:
        return self.requirements == other.requirements if isinstance(other, FieldSelector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        """Its canonical text, as a query takes it."""
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"<FieldSelector {str(self)!r}>"


@lru_cache(maxsize=1024)
def parse_field_selector(text: str) -> FieldSelector:
    """
    Parse a field selector. An empty text matches every object.

    :raises SelectorError: (a ValueError) if the text is not a selector, with the message of an API server
    """
    requirements = []
    for term in sorted(_TERM.findall(text)):
        operator = _OPERATOR.search(term)
        if operator is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, value = term[: operator.start()], _unescape(term[operator.end() :])
        # A term without field and value demands nothing, as in Kubernetes.
        if field or value:
            requirements.append(FieldRequirement(field, value, operator[0] != "!="))
    return FieldSelector(requirements)


def escape_value(value: str) -> str:
    """Escape a value for use in the text of a selector."""
    return _SPECIAL.sub(r"\\\g<0>", value)


def _unescape(value: str) -> str:
    characters = []
    escaped = False
    for character in value:
        if escaped:
            if character not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{character}")
            characters.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            characters.append(character)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(characters)
