"""What a rule of a role allows, and whether a user's rules cover the rules that the user wants to grant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ("Action", "Rule", "missing", "permits", "shown")

#: A rule of a role: JSON data, as in the API.
Rule = dict[str, Any]
#: The names of a rule's fields in Kubernetes' error texts, in their order there.
_FIELDS = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


@dataclass(frozen=True, slots=True)
class Action:
    """
    What a user wants to do.

    :param path: the path of a request for a non-resource URL, e.g. ``/version``
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def what(self) -> str:
        """The resource as in rules: with the subresource after a slash, if there is one."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def permits(rule: Rule, action: Action) -> bool:
    if not _has(rule, "verbs", action.verb):
        return False
    if action.path:
        return _is_path_of(rule, action.path)
    if not _has(rule, "apiGroups", action.group) or not _is_resource_of(rule, action.what):
        return False
    names = rule.get("resourceNames") or ()
    return not names or action.name in names


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of `wanted` that `held` does not cover. Each part has one verb, one resource and at most one name."""
    return [part for rule in wanted for part in _parts(rule) if not any(permits(one, _action(part)) for one in held)]


def shown(rules: Iterable[Rule]) -> list[str]:
    """Rules as in Kubernetes' error texts. Rules that differ only in their verbs are shown as one."""
    merged: dict[str, Rule] = {}
    for rule in rules:
        key = json.dumps({**rule, "verbs": []} if "nonResourceURLs" not in rule else rule, sort_keys=True)
        merged.setdefault(key, {**rule, "verbs": []})["verbs"].extend(rule["verbs"])
    return sorted({_text(rule) for rule in merged.values()})


def _has(rule: Rule, field: str, value: str) -> bool:
    return not {"*", value}.isdisjoint(rule.get(field) or ())


def _is_resource_of(rule: Rule, what: str) -> bool:
    _, slash, part = what.partition("/")
    return _has(rule, "resources", what) or bool(slash and f"*/{part}" in (rule.get("resources") or ()))


def _is_path_of(rule: Rule, path: str) -> bool:
    return any(
        path == one or (one.endswith("*") and path.startswith(one.rstrip("*")))
        for one in rule.get("nonResourceURLs") or ()
    )


def _parts(rule: Rule) -> Iterator[Rule]:
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                yield from ({**part, "resourceNames": [name]} for name in names)
                if not names:
                    yield part
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _action(part: Rule) -> Action:
    """What a part of a rule allows. It has no name if the part has none; a rule for some names does not allow that."""
    [verb] = part["verbs"]
    if "nonResourceURLs" in part:
        return Action(verb, path=part["nonResourceURLs"][0])
    return Action(verb, part["apiGroups"][0], part["resources"][0], name=part.get("resourceNames", [""])[0])


def _text(rule: Rule) -> str:
    parts = [f"{said}:[{' '.join(map(json.dumps, rule[name]))}]" for name, said in _FIELDS.items() if rule.get(name)]
    return f"{{{', '.join(parts)}}}"
