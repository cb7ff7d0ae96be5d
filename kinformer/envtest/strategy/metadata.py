"""Validation of the metadata of all kinds: names, labels, annotations, finalizers, owners, and changes of these.

The rules and their texts are apimachinery's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kinformer.envtest.causes import NEGATIVE, forbidden, immutable, invalid, required, too_long
from kinformer.envtest.status import Cause
from kinformer.meta.validation import label_key_errors, label_value_errors

__all__ = (
    "STANDARD_FINALIZERS",
    "NameRule",
    "check_finalizer_names",
    "key_errors",
    "path_segment",
    "validate_annotations",
    "validate_labels",
    "validate_metadata",
    "validate_metadata_update",
    "value_errors",
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
key_errors = lru_cache(maxsize=4096)(lambda key: tuple(label_key_errors(key)))
value_errors = lru_cache(maxsize=4096)(lambda value: tuple(label_value_errors(value)))


def validate_labels(labels: Mapping[str, str], path: str) -> list[Cause]:
    return [
        invalid(path, text, why)
        for key, value in sorted(labels.items())
        for text, errors in ((key, key_errors(key)), (value, value_errors(value)))
        for why in errors
    ]


def validate_annotations(annotations: Mapping[str, str], path: str) -> Iterator[Cause]:
    if not annotations:
        return
    for key in sorted(annotations):
        for why in key_errors(key.lower()):
            yield invalid(path, key, why)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_LIMIT:
        yield too_long(path, _ANNOTATIONS_LIMIT)


def _validate_owners(owners: Sequence[Mapping[str, Any]]) -> Iterator[Cause]:
    path = "metadata.ownerReferences"
    first = ""
    for owner in owners:
        version = owner.get("apiVersion", "")
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            yield invalid(f"{path}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if (version, owner.get("kind")) == ("v1", "Event"):
            yield invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if first:
                text = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield invalid(path, owners, f"{text} {first} and {this}")
            first = first or this


STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")


def _validate_finalizers(finalizers: Sequence[str]) -> Iterator[Cause]:
    for name in finalizers:
        for why in label_key_errors(name):
            yield invalid("metadata.finalizers", name, why)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        yield invalid("metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set")


def check_finalizer_names(finalizers: Sequence[str]) -> Iterator[Cause]:
    """Check the rule for finalizers of built-in kinds: a finalizer is a standard one, or has a domain."""
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", name, text)


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
        causes += [invalid("metadata.generateName", prefix, why) for why in wrong]
    name = metadata.get("name", "")
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    else:
        causes += [invalid("metadata.name", name, why) for why in name_rule(name)]
    if (generation := metadata.get("generation", 0)) < 0:
        causes.append(invalid("metadata.generation", generation, NEGATIVE))
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
            text = "no new finalizers can be added if the object is being deleted, found new finalizers "
            causes.append(forbidden("metadata.finalizers", f"{text}[]string{{{listed}}}"))
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        causes += immutable(metadata.get(name), old.get(name), f"metadata.{name}")
    if (generation := metadata.get("generation", 0)) < old.get("generation", 0):
        causes.append(invalid("metadata.generation", generation, "must not be decremented"))
    # Unchanged values were checked when they were stored.
    if (labels := metadata.get("labels")) and labels != old.get("labels"):
        causes += validate_labels(labels, "metadata.labels")
    if (annotations := metadata.get("annotations")) and annotations != old.get("annotations"):
        causes += validate_annotations(annotations, "metadata.annotations")
    if (owners := metadata.get("ownerReferences")) and owners != old.get("ownerReferences"):
        causes += _validate_owners(owners)
    return causes
