"""Fields: the checks of a type, declared as a table of its fields.

Kubernetes generates many of its checks from markers at the fields of its types (``+k8s:required``, ``+k8s:enum``,
``+k8s:minimum``, ``+k8s:format``, ``+listType=map``). Here they are rows of a table::

    _PORT = Fields(
        name=Filled(DNS_LABEL),
        port=check_port,
        protocol=OneOf("SCTP", "TCP", "UDP"),
    )

A check is called with a value and its path, and returns the errors. An absent value is None. The rows are checked in
their order, which is the order of the errors in Kubernetes' answers. A rule about several fields is a function with the
same signature: ``Every(_PORT, _check_ports_together)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from kinformer.envtest.causes import NEGATIVE, duplicate, forbidden, invalid, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.checks import check_operator, data_key_errors, port_name_errors
from kinformer.envtest.strategy.metadata import key_errors, path_segment, validate_labels, value_errors
from kinformer.meta.validation import (
    condition_reason_errors,
    dns1035_label_errors,
    dns1123_label_errors,
    dns1123_subdomain_errors,
)

__all__ = (
    "ABOVE_0",
    "API_NAME",
    "CONDITIONS",
    "DATA_KEY",
    "DNS_LABEL",
    "DNS_SUBDOMAIN",
    "KIND_NAME",
    "LABEL_SELECTOR",
    "LABEL_VALUE",
    "LABEL_VALUE_AT_ONCE",
    "NOT_NEGATIVE",
    "PATH_SEGMENT",
    "PORT_NAME",
    "POSITIVE",
    "PROTOCOL",
    "QUALIFIED_NAME",
    "AtMost",
    "Between",
    "Check",
    "Each",
    "Every",
    "Fields",
    "Filled",
    "Form",
    "Given",
    "Must",
    "Needed",
    "OneOf",
    "Present",
    "Unique",
    "check_status_counts",
    "check_union",
    "not_negative",
    "ports_of",
)

#: Returns the errors of a value. The arguments are the value, or None if it is absent, and its path.
Check = Callable[[Any, str], Iterable[Cause]]


def _passes_absent(check: Check) -> bool:
    """Whether an absent value has no errors. The check is then not called for it: most fields are absent."""
    return getattr(check, "passes_absent", False)


class Every:
    """Check one value in several ways."""

    __slots__ = ("_checks", "_detail", "passes_absent")
    #: Whether an empty value counts as absent.
    _empty_is_absent = False

    def __init__(self, *checks: Check):
        self._checks = checks
        self._detail: str | None = None
        self.passes_absent = all(map(_passes_absent, checks))

    def __call__(self, value: Any, path: str) -> Iterable[Cause]:
        if not value and (value is None or self._empty_is_absent):
            if self.passes_absent:
                return ()
            if self._detail is not None:
                return (required(path, self._detail),)
        causes: list[Cause] = []
        for check in self._checks:
            causes += check(value, path)
        return causes


class Given(Every):
    """Check a value if it is there, even if it is empty. In Go, such a field is a pointer."""

    __slots__ = ()

    def __init__(self, *checks: Check):
        super().__init__(*checks)
        self.passes_absent = True


class Filled(Given):
    """Check a value if it is there and not empty."""

    __slots__ = ()
    _empty_is_absent = True


class Present(Every):
    """
    Check a value that may be empty, but not absent.

    :param detail: the end of the error's text
    """

    __slots__ = ()

    def __init__(self, *checks: Check, detail: str = ""):
        super().__init__(*checks)
        self._detail = detail
        self.passes_absent = False


class Needed(Present):
    """Check a value that may not be absent or empty."""

    __slots__ = ()
    _empty_is_absent = True


_NOTHING: Mapping[str, Any] = {}


class Fields:
    """Check the fields of an object. An absent object counts as an empty one."""

    __slots__ = ("_rows", "passes_absent")

    def __init__(self, **rows: Check):
        self._rows = tuple((name, check, _passes_absent(check)) for name, check in rows.items())
        self.passes_absent = all(map(_passes_absent, rows.values()))

    def __call__(self, value: Mapping[str, Any] | None, path: str) -> Iterable[Cause]:
        if not value and self.passes_absent:
            return ()
        read = value.get if value else _NOTHING.get
        prefix = f"{path}." if path else ""
        causes: list[Cause] = []
        for name, check, passes_absent in self._rows:
            held = read(name)
            if held is not None or not passes_absent:
                causes += check(held, prefix + name)
        return causes


class Unique:
    """
    In a list: no two items have the same value of a field.

    :param field: the field. Empty if it is the item itself
    :param counts: returns whether a value may occur only once
    :param at_item: whether the error is reported at the item, and not at the field
    """

    __slots__ = ("_at", "_counts", "_field")

    def __init__(self, field: str = "", *, counts: Callable[[Any], object] = lambda _: True, at_item: bool = False):
        self._field = field
        self._counts = counts
        self._at = "" if at_item or not field else f".{field}"

    def over_one_list(self, before: Iterable[Hashable] = ()) -> Check:
        """
        The check of one list. It is called with one item after the other.

        :param before: values that occurred before the list
        """
        seen = set(before)

        def check(item: Any, path: str) -> Iterator[Cause]:
            value = item.get(self._field, "") if self._field else item
            if value in seen and self._counts(value):
                yield duplicate(path + self._at, value)
            seen.add(value)

        return check


class Each:
    """Check each item of a list."""

    __slots__ = ("_checks",)
    passes_absent = True

    def __init__(self, *checks: Check | Unique):
        self._checks = checks

    def __call__(self, items: Iterable[Any] | None, path: str) -> Iterable[Cause]:
        if not items:
            return ()
        causes: list[Cause] = []
        checks = [check.over_one_list() if isinstance(check, Unique) else check for check in self._checks]
        for index, item in enumerate(items):
            here = f"{path}[{index}]"
            for check in checks:
                causes += check(item, here)
        return causes


class AtMost:
    """
    Check that a list is not longer than this.

    :param items: what the error calls the items
    """

    __slots__ = ("_items", "_most")

    def __init__(self, most: int, items: str):
        self._most = most
        self._items = items

    def __call__(self, value: Sequence[Any], path: str) -> Iterable[Cause]:
        if len(value) <= self._most:
            return ()
        return (invalid(path, value, f"must not have more than {self._most} {self._items}"),)


class OneOf:
    """Check that a value is one of an enumeration."""

    __slots__ = ("_shown", "_values")

    def __init__(self, *values: str):
        self._values = frozenset(values)
        self._shown = values

    def __call__(self, value: Any, path: str) -> Iterable[Cause]:
        return () if value in self._values else (not_supported(path, value or "", self._shown),)


class Between:
    """
    Check that a number, if it is there, is in a range.

    :param least: the smallest number. None if there is none
    :param most: the greatest number. None if there is none
    """

    __slots__ = ("_least", "_most", "_text")
    passes_absent = True

    def __init__(self, least: int | None, most: int | None, text: str):
        self._least = -math.inf if least is None else least
        self._most = math.inf if most is None else most
        self._text = text

    def __call__(self, value: int | None, path: str) -> Iterable[Cause]:
        is_valid = value is None or self._least <= value <= self._most
        return () if is_valid else (invalid(path, value, self._text),)


class Form:
    """
    Check the form of a text.

    :param errors: returns the texts of all errors
    :param between: joins these texts to one. None if each is an error of its own
    """

    __slots__ = ("_between", "_errors")

    def __init__(self, errors: Callable[[Any], Iterable[str]], between: str | None = None):
        self._errors = errors
        self._between = between

    def __call__(self, value: Any, path: str) -> Iterable[Cause]:
        wrong = [*self._errors(value or "")]
        if not wrong:
            return ()
        if self._between is not None:
            wrong = [self._between.join(wrong)]
        return [invalid(path, value or "", why) for why in wrong]


class Must(Form):
    """
    Check that a value meets a condition.

    :param detail: the end of the error's text
    """

    __slots__ = ()

    def __init__(self, holds: Callable[[Any], object], detail: str):
        super().__init__(lambda value: () if holds(value) else (detail,))


@cache
def not_negative(*names: str) -> Fields:
    """Check that fields are not negative."""
    return Fields(**dict.fromkeys(names, NOT_NEGATIVE))


_NOT_OF_REPLICAS = ("observedGeneration", "terminatingReplicas", "unavailableReplicas")


def check_status_counts(status: Mapping[str, Any], names: Collection[str]) -> Iterator[Cause]:
    """Check the counts in a status. None is negative. If they are of replicas, none is greater than the total."""
    yield from not_negative(*names)(status, "status")
    if "replicas" not in names:
        return
    total, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    for name in names:
        if name not in _NOT_OF_REPLICAS and (count := status.get(name, 0)) > total:
            yield invalid(f"status.{name}", count, "cannot be greater than status.replicas")
    if (available := status.get("availableReplicas", 0)) > ready:
        yield invalid("status.availableReplicas", available, "cannot be greater than readyReplicas")


def ports_of(*checks: Check | Unique) -> Check:
    """
    Check a list of ports. If there are several, each of them needs a name.

    :param checks: further checks of each port
    """
    one, several = (Each(Fields(name=named(DNS_LABEL)), *checks) for named in (Filled, Needed))

    def check(ports: Sequence[Any] | None, path: str) -> Iterable[Cause]:
        return (several if ports and len(ports) > 1 else one)(ports, path)

    return check


def check_union(
    obj: Mapping[str, Any], path: str, members: list[str], checks: Mapping[str, Check], what: str
) -> Iterator[Cause]:
    """
    Check that an object has exactly one of several members.

    :param members: the members that it has. Only the first one is checked
    :param checks: the checks of members, by name. A member without a check may have any value
    :param what: what errors call a member
    """
    if not members:
        yield required(path, f"must specify a {what}")
    for name in members[:1]:
        if name in checks:
            yield from checks[name](obj[name], f"{path}.{name}")
    for name in members[1:]:
        yield forbidden(f"{path}.{name}", f"may not specify more than 1 {what}")


def _kind_errors(kind: str) -> list[str]:
    wrong = ",".join(dns1035_label_errors(kind.lower()))
    return [f"may have mixed case, but should otherwise match: {wrong}"] if wrong else []


#: The name of a version or of a resource, all errors as one.
API_NAME = Form(dns1035_label_errors, between=",")
KIND_NAME = Form(_kind_errors)
DATA_KEY = Form(data_key_errors)
DNS_LABEL = Form(dns1123_label_errors)
DNS_SUBDOMAIN = Form(dns1123_subdomain_errors)
LABEL_VALUE = Form(value_errors)
#: The same, all errors as one.
LABEL_VALUE_AT_ONCE = Form(value_errors, between=";")
PATH_SEGMENT = Form(path_segment)
PORT_NAME = Form(port_name_errors)
QUALIFIED_NAME = Form(key_errors)
LABEL_SELECTOR = Fields(
    matchLabels=Given(validate_labels),
    matchExpressions=Each(check_operator, Fields(key=QUALIFIED_NAME, values=Each(LABEL_VALUE))),
)
NOT_NEGATIVE = Between(0, None, NEGATIVE)
POSITIVE = Between(1, None, "must be greater than zero")
#: The same, with the other text that Kubernetes has for it.
ABOVE_0 = Between(1, None, "must be greater than 0")
PROTOCOL = OneOf("SCTP", "TCP", "UDP")
CONDITIONS = Each(
    Unique("type"),
    Fields(
        type=QUALIFIED_NAME,
        status=OneOf("False", "True", "Unknown"),
        observedGeneration=Between(0, None, "must be greater than or equal to zero"),
        lastTransitionTime=Needed(),
        reason=Needed(Form(condition_reason_errors)),
    ),
)
