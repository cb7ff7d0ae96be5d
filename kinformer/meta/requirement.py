"""Requirements: conditions on one label each, of which label selectors are made."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from enum import StrEnum
from typing import NamedTuple

from kinformer.meta.integers import read_integer
from kinformer.meta.validation import label_key_errors, label_value_errors, quoted

__all__ = ("Operator", "Requirement", "SelectorError", "check_label_key")


class SelectorError(ValueError):
    """A text or an object is not a valid selector. The message is the one of an API server."""


class Operator(StrEnum):
    """The comparison of a requirement, with apimachinery's names."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = "gt"
    LESS_THAN = "lt"


_ONE_OF = frozenset({Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS})
_NONE_OF = frozenset({Operator.NOT_IN, Operator.NOT_EQUALS})
_SETS = frozenset({Operator.IN, Operator.NOT_IN})
_EQUALITIES = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS})
_EXISTENCE = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_SIGNS = {Operator.GREATER_THAN: ">", Operator.LESS_THAN: "<"}
_ABSENT = frozenset({None})


class Rule(NamedTuple):
    """A requirement in the form in which it is tested: ``(labels.get(key) in values) is wanted``. Absent is None."""

    key: str
    values: Container[str | None]
    wanted: bool


class Requirement(NamedTuple):
    """
    One condition on one label.

    :param values: as many values as the operator takes; none for existence
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @classmethod
    def checked(cls, key: str, operator: Operator, values: tuple[str, ...] = ()) -> Requirement:
        """
        Make a requirement, and check it as an API server does.

        :raises SelectorError: if the key, a value, or the number of values is invalid
        """
        errors = [f"key: {text}" for text in _label_key_complaint(key)]
        if operator in _SETS and not values:
            errors.append("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
        elif operator in _EQUALITIES and len(values) != 1:
            errors.append(_about_values(values, "exact-match compatibility requires one single value"))
        elif operator in _EXISTENCE and values:
            errors.append(_about_values(values, "values set must be empty for exists and does not exist"))
        elif operator in _SIGNS:
            if len(values) != 1:
                errors.append(_about_values(values, "for 'Gt', 'Lt' operators, exactly one value is required"))
            errors += [
                f"values[{index}]: Invalid value: {quoted(value)}: for 'Gt', 'Lt' operators, "
                "the value must be an integer"
                for index, value in enumerate(values)
                if read_integer(value) is None
            ]
        for index, value in enumerate(values):
            if complaints := label_value_errors(value):
                errors.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(complaints)}")
        if errors:
            raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return cls(key, operator, values)

    @property
    def is_exact(self) -> bool:
        """Whether the label must have one certain value."""
        return self.operator in _ONE_OF and len(self.values) == 1

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels meet the requirement. To test many objects, use a selector, which is faster."""
        rule = self.rule()
        return (labels.get(rule.key) in rule.values) is rule.wanted

    def rule(self) -> Rule:
        """The requirement in the form in which it is tested."""
        match self.operator:
            case operator if operator in _ONE_OF:
                return Rule(self.key, frozenset(self.values), True)
            case operator if operator in _NONE_OF:
                return Rule(self.key, frozenset(self.values), False)
            case Operator.EXISTS:
                return Rule(self.key, _ABSENT, False)
            case Operator.DOES_NOT_EXIST:
                return Rule(self.key, _ABSENT, True)
            case _:
                return Rule(
                    self.key, _Beyond(self.operator is Operator.GREATER_THAN, read_integer(self.values[0])), True
                )

    def __str__(self) -> str:
        """Its canonical text."""
        operator = self.operator
        if operator is Operator.EXISTS:
            return self.key
        if operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if operator in _SETS:
            return f"{self.key} {operator.value} ({values})"
        return f"{self.key}{_SIGNS.get(operator, operator.value)}{values}"


class _Beyond:
    """A container of the texts of all integers above, or below, one integer."""

    __slots__ = ("_above", "_bound")

    def __init__(self, above: bool, bound: int | None) -> None:
        self._above = above
        self._bound = bound

    def __contains__(self, value: object) -> bool:
        number = read_integer(value) if isinstance(value, str) else None
        if number is None or self._bound is None:
            return False
        return number > self._bound if self._above else number < self._bound


def check_label_key(key: str) -> None:
    """
    Check a label's key, before the operator is known.

    :raises SelectorError: if it is invalid. The message is that of apimachinery's parser, which has no path here and
        writes ``<nil>``.
    """
    for text in _label_key_complaint(key):
        raise SelectorError(f"<nil>: {text}")


def _label_key_complaint(key: str) -> list[str]:
    complaints = label_key_errors(key)
    return [f"Invalid value: {quoted(key)}: {'; '.join(complaints)}"] if complaints else []


def _about_values(values: tuple[str, ...], complaint: str) -> str:
    return f"values: Invalid value: {json.dumps(values, ensure_ascii=False, separators=(',', ':'))}: {complaint}"
