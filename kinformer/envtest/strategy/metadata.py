"""Validation of the metadata of all kinds: names, labels, annotations, finalizers, owners, and changes of these.

The rules and their texts are apimachinery's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from kinformer.envtest.status import Cause
from kinformer.meta.validation import label_key_errors, label_value_errors

__all__ = (
    "NameRule",
    "check_finalizer_names",
    "path_segment",
    "validate_annotations",
    "validate_labels",
    "validate_metadata",
    "validate_metadata_update",
)

_ANNOTATIONS_LIMIT: Final = 256 * 1024

#: A rule for names. It returns the texts of all errors.
NameRule = Callable[[str], list[str]]


def path_segment(value: str) -> list[str]:
    """The errors of a role's or a binding's name. Every name that can be a part of a URL is valid."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{illegal}'" for illegal in "/%" if illegal in value]


# The same keys and values occur often, and one update checks each of them up to three times.
_key_errors = lru_cache(maxsize=4096)(lambda key: tuple(label_key_errors(key)))
_value_errors = lru_cache(maxsize=4096)(lambda value: tuple(label_value_errors(value)))


def validate_labels(labels: Mapping[str, str], path: str) -> list[Cause]:
    return [
        Cause(path, "FieldValueInvalid", f'Invalid value: "{text}": {why}')
        for key, value in sorted(labels.items())
        for text, errors in ((key, _key_errors(key)), (value, _value_errors(value)))
        for why in errors
    ]


def validate_annotations(annotations: Mapping[str, str], path: str) -> Iterator[Cause]:
    if not annotations:
        return
    for key in sorted(annotations):
        for why in _key_errors(key.lower()):
            yield Cause(path, "FieldValueInvalid", f'Invalid value: "{key}": {why}')
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_LIMIT:
        yield Cause(path, "FieldValueTooLong", f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes")


def _validate_owners(owners: Sequence[Mapping[str, Any]]) -> Iterator[Cause]:
    path = "metadata.ownerReferences"
    first = ""
    for owner in owners:
        version = owner.get("apiVersion", "")
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            text = f'Invalid value: "{version}": version must not be empty'
            yield Cause(f"{path}.apiVersion", "FieldValueInvalid", text)
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield Cause(f"{path}.{name}", "FieldValueInvalid", 'Invalid value: "": must not be empty')
        if (version, owner.get("kind")) == ("v1", "Event"):
            text = f"Invalid value: {_json(owner)}: /v1, Kind=Event is disallowed from being an owner"
            yield Cause(path, "FieldValueInvalid", text)
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if first:
                text = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield Cause(path, "FieldValueInvalid", f"Invalid value: {_json(owners)}: {text} {first} and {this}")
            first = first or this


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")


def _validate_finalizers(finalizers: Sequence[str]) -> Iterator[Cause]:
    for name in finalizers:
        for why in label_key_errors(name):
            yield Cause("metadata.finalizers", "FieldValueInvalid", f'Invalid value: "{name}": {why}')
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        yield Cause("metadata.finalizers", "FieldValueInvalid", f"Invalid value: {_json(finalizers)}: {text}")


def check_finalizer_names(finalizers: Sequence[str]) -> Iterator[Cause]:
    """Check the rule for finalizers of built-in kinds: a finalizer is a standard one, or has a domain."""
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            text = f'Invalid value: "{name}": name is neither a standard finalizer name nor is it fully qualified'
            yield Cause(f"metadata.finalizers[{index}]", "FieldValueInvalid", text)


def validate_metadata(
    metadata: Mapping[str, Any], name_rule: NameRule, old: Mapping[str, Any] | None = None
) -> list[Cause]:
    """
    Check an object's metadata, for any kind.

    :param old: the old metadata, if the change is valid. Most of the metadata is then checked already
    """
    causes: list[Cause] = []
    if old is not None and all(metadata.get(name) == old.get(name) for name in ("name", "generateName", "finalizers")):
        return causes
    if prefix := metadata.get("generateName"):
        # A prefix may end with a dash, because the generated name does not end there.
        wrong = name_rule(f"{prefix[:-1]}a" if prefix.endswith("-") and len(prefix) > 1 else prefix)
        causes += [
            Cause("metadata.generateName", "FieldValueInvalid", f'Invalid value: "{prefix}": {why}') for why in wrong
        ]
    name = metadata.get("name", "")
    if not name:
        causes.append(Cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required"))
    else:
        wrong = name_rule(name)
        causes += [Cause("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {why}') for why in wrong]
    if (generation := metadata.get("generation", 0)) < 0:
        text = f"Invalid value: {generation}: must be greater than or equal to 0"
        causes.append(Cause("metadata.generation", "FieldValueInvalid", text))
    causes += validate_labels(metadata.get("labels") or {}, "metadata.labels")
    causes += validate_annotations(metadata.get("annotations") or {}, "metadata.annotations")
    causes += _validate_owners(metadata.get("ownerReferences") or ())
    causes += _validate_finalizers(metadata.get("finalizers") or ())
    return causes


def validate_metadata_update(metadata: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """Check the fields of an object's metadata that may not change."""
    causes: list[Cause] = []
    if old.get("deletionTimestamp") is not None:
        before = old.get("finalizers") or ()
        if new := [name for name in metadata.get("finalizers") or () if name not in before]:
            listed = ", ".join(f'"{name}"' for name in new)
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            causes.append(Cause("metadata.finalizers", "FieldValueForbidden", text))
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if (value := metadata.get(name)) != old.get(name):
            said = "null" if value is None else f'"{value}"' if isinstance(value, str) else str(value)
            causes.append(Cause(f"metadata.{name}", "FieldValueInvalid", f"Invalid value: {said}: field is immutable"))
    if (generation := metadata.get("generation", 0)) < old.get("generation", 0):
        text = f"Invalid value: {generation}: must not be decremented"
        causes.append(Cause("metadata.generation", "FieldValueInvalid", text))
    # Unchanged values were checked when they were stored.
    if (labels := metadata.get("labels")) and labels != old.get("labels"):
        causes += validate_labels(labels, "metadata.labels")
    if (annotations := metadata.get("annotations")) and annotations != old.get("annotations"):
        causes += validate_annotations(annotations, "metadata.annotations")
    if (owners := metadata.get("ownerReferences")) and owners != old.get("ownerReferences"):
        causes += _validate_owners(owners)
    return causes
