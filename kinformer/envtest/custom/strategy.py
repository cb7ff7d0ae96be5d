"""How objects of custom resources are written."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

from kinformer.envtest.custom.invariants import check_embedded, check_lists, check_scale, prune_embedded
from kinformer.envtest.custom.rules import Rules, has_rules
from kinformer.envtest.custom.structural import NOWHERE, children, drop_nulls, fill_defaults, problems_of, prune
from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import Problems, check_model, json_type
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import LARGEST
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.metadata import STANDARD_FINALIZERS
from kinformer.expressions import is_available
from kinformer.meta.validation import label_key_errors

__all__ = ("CustomStrategy",)


class CustomStrategy(Strategy):
    """How objects of one version of a definition are written."""

    has_generation = True
    allow_unconditional_update = False
    largest = LARGEST

    def __init__(self, resource: Resource):
        super().__init__(resource)
        version = resource.definition or {}
        self._schema = resource.schema
        self._scale: dict[str, str] = version.get("scale") or {}
        self._has_embedded = _mentions(self._schema, "x-kubernetes-embedded-resource")
        self._has_lists = _mentions(self._schema, "x-kubernetes-list-type")
        paths = [one.get("jsonPath", "").lstrip(".") for one in version.get("selectableFields") or ()]
        self._kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        self.selectable = dict.fromkeys(paths, "")

    def check(self, data: Obj, problems: Problems) -> Obj:
        metadata = data.get("metadata")
        if isinstance(metadata, dict):
            found = Problems()
            data["metadata"] = check_model("V1ObjectMeta", metadata, found)
            problems.error = found.error
            problems.unknown += [text.replace('"', '"metadata.', 1) for text in found.unknown]
        elif metadata is not None:
            problems.error = f"json: cannot unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta"
        else:
            data["metadata"] = {}
        prune(data, self._schema, "", problems.unknown, ("metadata",))
        if not problems.keeps_nulls:
            drop_nulls(data, self._schema)
        if self._has_embedded:
            problems.unknown += prune_embedded(data, self._schema)
        return data

    def default(self, obj: Obj) -> None:
        fill_defaults(obj, self._schema)

    def prepare_for_create(self, obj: Obj) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def counts(self, obj: Obj, old: Obj) -> bool:
        ignored = ("metadata", "status") if self.has_status else ("metadata",)
        return any(obj.get(name) != old.get(name) for name in {*obj, *old}.difference(ignored))

    def finish(self, obj: Obj, old: Obj | None) -> None:
        super().finish(obj, old)
        drop_nulls(obj, self._schema)
        for name, value in obj.items():
            if name != "metadata":
                obj[name] = _as_go_writes(value)

    def validate(self, obj: Obj) -> list[Cause]:
        return self._problems(obj, None)

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        return self._problems(obj, old)

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        return self._problems(obj, old, status_only=subresource == "status")

    def _problems(self, obj: Obj, old: Obj | None, *, status_only: bool = False) -> list[Cause]:
        if status_only:
            causes = self._status_problems(obj.get("status"), (old or {}).get("status"))
        else:
            before = None if old is None else _with_names_alone(old)
            causes = list(dict.fromkeys(problems_of(_with_names_alone(obj), self._body, "", before)))
        if self._scale:
            causes += check_scale(obj, self._scale, status_only=status_only)
        if self._has_embedded and not status_only:
            causes += check_embedded(obj, self._schema)
        if self._has_lists and (old is None or not any(check_lists(old, self._schema))):
            causes += check_lists(obj, self._schema)
        if self._rules is not None:
            shown, shown_before = (None if one is None else {**self._kind, **one} for one in (obj, old))
            causes += self._rules.check(shown, shown_before, causes)
        return causes

    def _status_problems(self, status: Any, old: Any) -> list[Cause]:
        """
        Check a status by itself. The field of an error has the full path. Its text has only the path within the status.
        """
        schema = (self._schema.get("properties") or {}).get("status")
        if schema is None or status is None:
            return []
        causes = dict.fromkeys(problems_of(status, schema, "", old))
        return [
            cause._replace(field=f"status.{cause.field}" if cause.field not in ("", NOWHERE) else "status")
            for cause in causes
        ]

    @cached_property
    def _rules(self) -> Rules | None:
        # Without the packages for expressions, no definition with rules can be stored. The data may still come from a
        # server that has them.
        return Rules(self._schema, is_root=True) if has_rules(self._schema) and is_available() else None

    @cached_property
    def _body(self) -> dict[str, Any]:
        """The schema without what it requires of every object, which is checked in the same way for each kind."""
        of_kind = ("apiVersion", "kind", "metadata")
        needed = [key for key in self._schema.get("required") or () if key not in of_kind]
        return {**self._schema, "required": needed}

    def warnings_of_change(self, obj: Obj, old: Obj | None) -> list[str]:
        before = (old["metadata"].get("finalizers") or ()) if old is not None else ()
        new = sorted({*(obj["metadata"].get("finalizers") or ())}.difference(before))
        return [text for name in new for text in finalizer_warnings(name)]


def _as_go_writes(value: Any) -> Any:
    """The value with whole numbers without a point. Go writes 2.0 as 2, and readers of integers expect that."""
    if type(value) is float:
        # Go writes numbers from 1e21 on with an exponent.
        return int(Decimal(repr(value))) if value.is_integer() and abs(value) < 1e21 else value
    if type(value) is dict:
        for key, item in value.items():
            value[key] = _as_go_writes(item)
    elif type(value) is list:
        value[:] = map(_as_go_writes, value)
    return value


def finalizer_warnings(name: str) -> list[str]:
    """Warnings about a finalizer whose name others may use too."""
    said = f'metadata.finalizers: "{name}": '
    told = [said + wrong.replace("a valid label key", "name part", 1) for wrong in label_key_errors(name)]
    if "/" not in name and name not in STANDARD_FINALIZERS:
        how = " including a path (/)" if "." in name else ""
        why = "to avoid accidental conflicts with other finalizer writers"
        told.append(f"{said}prefer a domain-qualified finalizer name{how} {why}")
    return told


def _mentions(schema: Mapping[str, Any], name: str) -> bool:
    """Whether a schema, or one within it, uses a keyword."""
    return name in schema or any(_mentions(below, name) for _, below in children(schema))


def _with_names_alone(obj: Obj) -> Obj:
    """Of the metadata, a schema can restrict only the names."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {key: metadata[key] for key in ("name", "generateName") if key in metadata}}
