"""The normal form of a cluster's state: the part that must be the same in two runs of one scenario.

:func:`normal_form` takes the objects of the storage, and removes everything that differs between two correct runs:
uids, versions, times, managed fields, IP addresses, the nodes of pods, and the random ends of generated names. A
reference to another object stays, with that object's name. :func:`differences` describes where two normal forms differ.

This module does no I/O. The fields that may differ are those of this module's constants, and those that the user adds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from itertools import zip_longest
from typing import Any, TypeAlias

__all__ = (
    "LEFT_OUT",
    "MAY_DIFFER",
    "NO_STATE",
    "Difference",
    "Normal",
    "PatternError",
    "check_patterns",
    "differences",
    "group_of",
    "has_group",
    "normal_form",
    "path_of",
    "steps_of",
)

Objects: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Objects by resource, namespace and name, as in records: ``pods/default/web-0``."""

Normal: TypeAlias = dict[str, list[Any]]
"""Objects in normal form, by name. Objects with generated names share a name, with ``*`` for the random end."""

NO_STATE = ("events/", "events.events.k8s.io/", "leases.coordination.k8s.io/")
"""The beginnings of the names of objects that are not a part of the state: Events and Leases."""

LEFT_OUT = tuple(f"{beginning}*" for beginning in NO_STATE)
"""The same as patterns."""

MAY_DIFFER = (
    "*:metadata.uid",
    "*:metadata.resourceVersion",
    "*:metadata.generation",
    "*:metadata.managedFields",
    "*:metadata.selfLink",
    # The mark of another writer, who makes a conflict. An old view may show it, and a controller copy it from there.
    "*:metadata.annotations[kinformer.dev/touched]",
    # The version of the claim for which the reference was made.
    "persistentvolumes/*:spec.claimRef.resourceVersion",
    "pods/*:spec.nodeName",
    # The nodes' own work: when what began, and under which number.
    "pods/*:status.containerStatuses.*.containerID",
    "pods/*:status.observedGeneration",
)
"""Fields that may differ in any run, as ``objects:path``."""

# Lists whose order means nothing, or depends on values that are removed here: IP addresses and times.
_SORTED = frozenset(
    {"conditions", "ownerReferences", "addresses", "notReadyAddresses", "endpoints", "finalizers", "podIPs", "managed"}
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_IP = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f:]*::[0-9a-f:]*|(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The server's alphabet: no vowels and nothing that looks like one (k8s.io/apimachinery/pkg/util/rand).
_SUFFIX = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")


class PatternError(ValueError):
    """A pattern of fields that may differ cannot be read. The text names it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """
    A difference of two normal forms.

    :param object: the object's name in the normal form
    :param text: what is different, with the path of the field
    """

    object: str
    text: str

    def __str__(self) -> str:
        return f"{self.object}: {self.text}"


def has_group(name: str) -> bool:
    """Whether :func:`group_of` may give another name than this one, by the name alone."""
    own = name.rpartition("/")[2]
    return len(own) >= 36 or _SUFFIX.fullmatch(own[-5:]) is not None


def group_of(name: str, obj: Mapping[str, Any] | None) -> str:
    """The object's name, with ``*`` for the random end of a generated name, and ``<uid>`` for a uid in it."""
    metadata = (obj or {}).get("metadata") or {}
    prefix, own = metadata.get("generateName"), metadata.get("name", "")
    if prefix and own.startswith(prefix) and _SUFFIX.fullmatch(own[len(prefix) :]):
        return f"{name[: len(name) - len(own)]}{prefix}*"
    return _UID.sub("<uid>", name) if len(own) >= 36 else name


def check_patterns(patterns: Iterable[str]) -> None:
    """
    Check patterns of fields.

    :raises PatternError: if a pattern cannot be read
    """
    for pattern in patterns:
        _parsed(pattern)


def normal_form(objects: Objects, may_differ: Sequence[str] = (), groups: Mapping[str, str] | None = None) -> Normal:
    """
    The normal form of a state.

    :param objects: the objects by their names as in records
    :param may_differ: further ``objects:path`` patterns, such as ``jobs.batch/*:status.failed``; a pattern without a
        path leaves the objects out
    :param groups: by an object's name what :func:`group_of` gave when the object was new: a later update may have taken
        its prefix away
    :raises PatternError: if a pattern cannot be read
    """
    patterns = [_parsed(pattern) for pattern in (*LEFT_OUT, *MAY_DIFFER, *may_differ)]
    groups = {name: (groups or {}).get(name) or group_of(name, obj) for name, obj in objects.items()}
    strings = _Strings.of(objects, groups)
    found: Normal = {}
    for name, obj in sorted(objects.items()):
        fitting = [path for fits, path in patterns if fits is None or fits(name)]
        if () in fitting:
            continue
        current = obj.get("metadata", {}).get("generation")
        found.setdefault(strings.of_name(groups[name]), []).append(_normal(obj, fitting, strings, current))
    for several in found.values():
        several.sort(key=_order)
    return found


@dataclass(frozen=True, slots=True)
class _Strings:
    """Replaces parts of strings that differ between runs: generated names, uids, times and IP addresses."""

    known: Mapping[str, str]
    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, objects: Objects, groups: Mapping[str, str]) -> _Strings:
        known: dict[str, str] = {}
        generated = set()
        for name, obj in objects.items():
            metadata = obj.get("metadata", {})
            if uid := metadata.get("uid"):
                known[uid] = f"uid of {groups[name]}"
            if groups[name] != name:
                generated.add(metadata["name"])
                known[metadata["name"]] = groups[name].rpartition("/")[2]
        # Longer names first: one may begin with another.
        alternatives = "|".join(map(re.escape, sorted(generated, key=lambda text: (-len(text), text))))
        return cls(known, re.compile(alternatives) if generated else None)

    def of_name(self, text: str) -> str:
        return self.pattern.sub(lambda match: self.known[match[0]], text) if self.pattern else text

    def __call__(self, text: str) -> str:
        if text in self.known:
            return self.known[text]
        if len(text) < 3:
            return text
        text = self.of_name(text)
        if "T" in text and ":" in text:
            text = _TIME.sub("<time>", text)
        if _IP.fullmatch(text):
            return "<address>"
        return "<uid>" if len(text) == 36 and _UID.fullmatch(text) else text


def _normal(value: Any, left_out: Sequence[tuple[str, ...]], strings: _Strings, generation: Any) -> Any:
    """
    The normal form of a value.

    :param left_out: the paths below this value that are left out
    :param generation: the object's generation; an ``observedGeneration`` becomes "current" or "old" by it
    """
    if isinstance(value, str):
        return strings(value)
    if isinstance(value, Mapping):
        found = {}
        for key, inner in value.items():
            below = [path[1:] for path in left_out if path[0] in ("*", key)]
            if () in below:
                continue
            if key == "observedGeneration":
                found[key] = "current" if inner == generation else "old"
                continue
            inner = _normal(inner, below, strings, generation)
            if inner is None or inner == {} or inner == []:
                # For the API, a field without a value is the same as a missing field.
                continue
            if key in _SORTED and isinstance(inner, list):
                inner.sort(key=_order)
            found[strings.of_name(key) if len(key) > 5 else key] = inner
        return found
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        items = []
        for number, item in enumerate(value):
            below = [path[1:] for path in left_out if path[0] in ("*", str(number))]
            if () not in below:
                items.append(_normal(item, below, strings, generation))
        return items
    return value


def _order(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


_STEP = re.compile(r"\[([^\[\]]+)\]|(?:^|\.)([^.\[\]]+)")


def steps_of(path: str) -> tuple[str, ...]:
    """The steps of a path such as ``spec.ports.0`` or ``metadata.labels[example.com/a]``; none if it is not one."""
    return () if _STEP.sub("", path) else tuple(match[1] or match[2] for match in _STEP.finditer(path))


def path_of(steps: Iterable[str]) -> str:
    """Some steps as a path."""
    return "".join(f"[{step}]" if "." in step or "/" in step else f".{step}" for step in steps).removeprefix(".")


@cache
def _parsed(pattern: str) -> tuple[Callable[[str], object] | None, tuple[str, ...]]:
    """The two parts of a pattern: a match function for names (None for all objects), and the path."""
    objects, colon, path = pattern.partition(":")
    steps = steps_of(path)
    if not objects or ("/" not in objects and objects != "*") or bool(colon) != bool(steps):
        raise PatternError(
            f"{pattern!r} does not name fields: write objects:path, "
            "such as pods/*:status.phase or */default/web:metadata.annotations[example.com/at]"
        )
    return None if objects == "*" else re.compile(translate(objects)).match, steps


# -- differences ------------------------------------------------------------------------------------------------------


def differences(found: Normal, want: Normal, where: str = "without faults") -> Iterator[Difference]:
    """
    The differences between the normal forms of two runs.

    :param found: the normal form of a run
    :param want: that of the run with which it is compared
    :param where: what that run is called in the texts
    """
    for name in sorted(found.keys() | want.keys()):
        here, there = found.get(name, []), want.get(name, [])
        if here == there:
            continue
        if len(here) == len(there) == 1:
            yield from (Difference(name, text) for text in _compare(here[0], there[0], (), where))
        elif len(here) == len(there):
            yield from _several(name, here, there, where)
        elif len(here) + len(there) == 1:
            yield Difference(name, f"is there, and is not {where}" if here else "is missing")
        else:
            yield Difference(name, f"there are {len(here)} of them, and {len(there)} {where}")


def _several(name: str, here: list[Any], there: list[Any], where: str) -> Iterator[Difference]:
    """The differences of objects with generated names. Equal objects are paired first, then the others are compared."""
    left, missing = list(here), []
    for item in there:
        if item in left:
            left.remove(item)
        else:
            missing.append(item)
    for found, want in zip_longest(left, missing):
        yield from (Difference(name, text) for text in _compare(found, want, (), where))


_NOTHING = object()


def _compare(found: Any, want: Any, path: tuple[str, ...], where: str) -> Iterator[str]:
    if isinstance(found, Mapping) and isinstance(want, Mapping):
        for key in sorted(found.keys() | want.keys()):
            yield from _compare(found.get(key, _NOTHING), want.get(key, _NOTHING), (*path, key), where)
    elif isinstance(found, list) and isinstance(want, list) and len(found) == len(want):
        for number, (one, other) in enumerate(zip(found, want, strict=True)):
            yield from _compare(one, other, (*path, str(number)), where)
    elif found != want:
        if found is _NOTHING:
            yield f"{path_of(path)} is missing; {where} it is {_short(want)}"
        elif want is _NOTHING:
            yield f"{path_of(path)} is {_short(found)}; {where} it is not there"
        else:
            yield f"{path_of(path)} is {_short(found)}; {where} it is {_short(want)}"


def _short(value: Any, longest: int = 120) -> str:
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[:longest]}…"
