"""Requirements: one condition on one label, the piece that label selectors are made of."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from enum import StrEnum
from typing import NamedTuple

from kinformer.meta.integers import read_integer
from kinformer.meta.validation import label_key_errors, label_value_errors

__all__ = ("Operator", "Requirement", "SelectorError", "check_label_key")


class SelectorError(ValueError):
    """What was to be a selector is none; the text is what an API server would answer."""


class Operator(StrEnum):
    """How a label is compared, by the names that apimachinery gives it."""

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
    """A requirement as it is best tested: ``(labels.get(key) in values) is wanted``; an absent label is None."""

    key: str
    values: Container[str | None]
    wanted: bool


class Requirement(NamedTuple):
    """
    One condition on one label.

    :param values: as many as the operator takes; none for existence
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @classmethod
    def checked(cls, key: str, operator: Operator, values: tuple[str, ...] = ()) -> Requirement:
        """
        A requirement that an API server would take.

        :raises SelectorError: if the key, a value, or the number of values is not right
        """
        errors = [f"key: {text}" for text in _label_key_complaint(key)]
        if operator in _SETS and not values:
            errors.append("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
        elif operator in _EQUALITIES and len(values) != 1:
            errors.append(_about_values(values, "exact-match compatibility requires one single value"))
        elif operator in _EXISTENCE and values:
            errors.append(_about_values(values, "values set must be empty for exists and does not exist"))
        elif operator in _SIGNS:
            if len(values) != 1:
                errors.append(_about_values(values, "for 'Gt', 'Lt' operators, exactly one value is required"))
            errors += [
                f"values[{index}]: Invalid value: {_quoted(value)}: for 'Gt', 'Lt' operators, "
                "the value must be an integer"
                for index, value in enumerate(values)
                if read_integer(value) is None
            ]
        for index, value in enumerate(values):
            if complaints := label_value_errors(value):
                errors.append(f"values[{index}][{key}]: Invalid value: {_quoted(value)}: {'; '.join(complaints)}")
        if errors:
            raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return cls(key, operator, values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether those labels meet it. What tests many uses a selector, which is faster."""
        rule = self.rule()
        return (labels.get(rule.key) in rule.values) is rule.wanted

    def rule(self) -> Rule:
        """How to test it."""
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
    """The texts of all integers above, or below, one."""

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
    Refuse what is not a label's key, before it is known what to ask of that label.

    :raises SelectorError: in the words of apimachinery's parser, which knows no path here and says so
    """
    for text in _label_key_complaint(key):
        raise SelectorError(f"<nil>: {text}")


def _label_key_complaint(key: str) -> list[str]:
    complaints = label_key_errors(key)
    return [f"Invalid value: {_quoted(key)}: {'; '.join(complaints)}"] if complaints else []


def _about_values(values: tuple[str, ...], complaint: str) -> str:
    return f"values: Invalid value: {json.dumps(values, ensure_ascii=False, separators=(',', ':'))}: {complaint}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
