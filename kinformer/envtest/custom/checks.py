"""Check CustomResourceDefinitions. The errors are in the API's words.

If a value is equal in all versions, the API treats it as a value of the definition itself. This matters most for the
schema. The path of its errors is ``spec.validation`` if all versions have the same schema. Otherwise it is that of the
version, for example ``spec.versions[0].schema``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kinformer.envtest.causes import duplicate, forbidden, invalid, required, too_many
from kinformer.envtest.custom.paths import PathError, find_field
from kinformer.envtest.custom.schemas import check_schema
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.webhooks import check_client, check_review_versions
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("check_definition",)

_MOST_SELECTABLE = 8
_APPROVED = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def check_definition(obj: Obj) -> Iterator[Cause]:
    spec, metadata = obj["spec"], obj["metadata"]
    names = spec.get("names") or {}
    wanted = f"{names.get('plural', '')}.{spec.get('group', '')}"
    if metadata.get("name") != wanted:
        yield invalid("metadata.name", metadata.get("name", ""), 'must be spec.names.plural+"."+spec.group')
    yield from _SPEC(spec, "spec")
    yield from _check_versions(spec)
    yield from _NAMES(names, "spec.names")
    common = _common(spec)
    if "schema" in common:
        parts = ((one.get("subresources") or {}).get("status") for one in spec.get("versions") or ())
        has_status = any(part is not None for part in parts)
        yield from _check_schema(common["schema"], "spec.validation", has_status=has_status)
    yield from _check_parts(common, "spec", common.get("schema"))
    yield from _CONVERSION(spec.get("conversion"), "spec.conversion")
    yield from _check_stored(obj)
    yield from _check_approval(metadata, spec.get("group") or "")
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)


def _check_group(group: str, path: str) -> Iterator[Cause]:
    if wrong := dns1123_subdomain_errors(group):
        yield invalid(path, group, ",".join(wrong))
    elif "." not in group:
        yield invalid(path, group, "should be a domain with at least one dot")


def _check_kinds(names: Obj, path: str) -> Iterator[Cause]:
    if (kind := names.get("kind")) and kind == names.get("listKind"):
        yield invalid(f"{path}.listKind", kind, "kind and listKind may not be the same")


_SPEC = f.Fields(group=f.Needed(_check_group), scope=f.Needed(f.OneOf("Cluster", "Namespaced")))
_API_NAME, _KIND_NAME = f.Filled(f.API_NAME), f.Filled(f.KIND_NAME)
_NAMES = f.Every(
    f.Fields(plural=f.Needed(), singular=f.Needed(), kind=f.Needed(), listKind=f.Needed()),
    f.Fields(plural=_API_NAME, singular=_API_NAME, kind=_KIND_NAME, listKind=_KIND_NAME),
    f.Fields(shortNames=f.Each(f.API_NAME)),
    _check_kinds,
    f.Fields(categories=f.Each(f.API_NAME)),
)


def _common(spec: Obj) -> dict[str, Any]:
    """The values that are equal in all versions."""
    versions = spec.get("versions") or []
    if not versions:
        return {}
    first = versions[0]
    return {
        name: first[name]
        for name in ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
        if first.get(name) is not None and all(one.get(name) == first[name] for one in versions)
    }


def _check_versions(spec: Obj) -> Iterator[Cause]:
    versions, common = spec.get("versions") or [], _common(spec)
    if (common.get("schema") or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    names = [one.get("name") or "" for one in versions]
    for index, version in enumerate(versions):
        here = f"spec.versions[{index}]"
        yield from f.API_NAME(names[index], f"{here}.name")
        warning = version.get("deprecationWarning")
        if warning is not None and not version.get("deprecated"):
            yield invalid(f"{here}.deprecationWarning", warning, "can only be set for deprecated versions")
        elif warning is not None and not 0 < len(warning.encode()) <= 256:
            text = "must be <= 256 characters long" if warning else "must not be an empty string"
            yield invalid(f"{here}.deprecationWarning", warning, text)
        own = {name: value for name, value in version.items() if name not in common}
        if own.get("schema"):
            has_status = (version.get("subresources") or {}).get("status") is not None
            yield from _check_schema(own["schema"], f"{here}.schema", has_status=has_status)
        yield from _check_parts(own, here, version.get("schema"))
    if len(set(names)) != len(names):
        yield invalid("spec.versions", _shown(versions), "must contain unique version names")
    if sum(bool(one.get("storage")) for one in versions) != 1:
        shown = None if spec.get("versions") is None else _shown(versions)
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")


def _shown(versions: list[Obj]) -> list[Obj]:
    """Versions in the form of the API's own type, as errors show them. The schema and similar parts are not shown."""
    zeros = {"name": "", "served": False, "storage": False, "deprecated": False, "deprecationWarning": None}
    hidden = dict.fromkeys(("Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields"))
    return [{name[0].upper() + name[1:]: one.get(name) or zeros[name] for name in zeros} | hidden for one in versions]


def _check_schema(validation: Mapping[str, Any], path: str, *, has_status: bool) -> list[Cause]:
    schema = validation.get("openAPIV3Schema")
    return [] if schema is None else check_schema(schema, f"{path}.openAPIV3Schema", has_status=has_status)


def _check_parts(parts: Mapping[str, Any], path: str, validation: Any) -> Iterator[Cause]:
    yield from _PARTS(parts, path)
    schema = (validation or {}).get("openAPIV3Schema")
    if (fields := parts.get("selectableFields")) and schema is not None:
        yield from _check_selectable(fields, schema, f"{path}.selectableFields")


def _path_under(*roots: str) -> f.Check:
    """Check a path. It must lead to a field below one of `roots`."""
    where = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"

    def check(value: str, path: str) -> Iterator[Cause]:
        if not value.startswith("."):
            yield invalid(path, value, "must be a simple json path starting with .")
        elif not value.startswith(tuple(f"{root}." for root in roots)):
            yield invalid(path, value, f"should be a json path under {where}")

    return check


def _listed(*values: str) -> f.Check:
    text = f"must be one of {','.join(values)}"

    def check(value: str | None, path: str) -> Iterator[Cause]:
        if value not in values:
            yield invalid(path, value, text) if value else required(path, text)

    return check


def _check_cell(column: Mapping[str, Any], path: str) -> Iterator[Cause]:
    # The real server writes this name with capital letters.
    yield from f.Needed(_path_under(""))(column.get("jsonPath"), f"{path}.JSONPath")


_COLUMN = f.Every(
    f.Fields(
        name=f.Needed(),
        type=_listed("boolean", "date", "integer", "number", "string"),
        format=f.Filled(_listed("byte", "date", "date-time", "double", "float", "int32", "int64", "password")),
    ),
    _check_cell,
)
_SCALE = f.Fields(
    specReplicasPath=f.Needed(_path_under(".spec")),
    statusReplicasPath=f.Needed(_path_under(".status")),
    labelSelectorPath=f.Filled(_path_under(".spec", ".status")),
)
_PARTS = f.Fields(
    subresources=f.Fields(scale=f.Given(_SCALE)),
    additionalPrinterColumns=f.Each(_COLUMN),
)


def _check_selectable(fields: list[Obj], schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, one in enumerate(fields):
        here, json_path = f"{path}[{index}].jsonPath", one.get("jsonPath") or ""
        if not json_path:
            yield required(here)
            continue
        try:
            place = find_field(json_path, schema, with_keys=False)
        except PathError as error:
            yield invalid(here, json_path, f"is an invalid path: {error}")
            continue
        if place.path.split(".")[0] == "metadata":
            yield invalid(here, json_path, "must not point to fields in metadata")
        if place.schema.get("type") not in ("string", "boolean", "integer"):
            told = "must point to a field of type string, boolean or integer."
            yield invalid(here, json_path, f"{told} Enum string fields and strings with formats are allowed.")
        if place.path in seen:
            yield duplicate(here, json_path)
        seen.add(place.path)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)


def _check_conversion(conversion: Mapping[str, Any] | None, path: str) -> Iterator[Cause]:
    webhook = (conversion or {}).get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    here = f"{path}.webhookClientConfig"
    if (conversion or {}).get("strategy") != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden(here, text)
        if versions:
            yield forbidden(f"{path}.conversionReviewVersions", text)
        return
    yield from f.Present(check_client, detail="required when strategy is set to Webhook")(client, here)
    yield from check_review_versions(versions, f"{path}.conversionReviewVersions", told="")


_CONVERSION = f.Every(f.Fields(strategy=f.Needed(f.OneOf("None", "Webhook"))), _check_conversion)


def _check_stored(obj: Obj) -> Iterator[Cause]:
    stored = (obj.get("status") or {}).get("storedVersions") or []
    if not stored:
        yield invalid("status.storedVersions", None, "must have at least one stored version")
        return
    names = {one.get("name") for one in obj["spec"].get("versions") or ()}
    for index, name in enumerate(stored):
        if name not in names:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{index}]", name, text)


def _check_approval(metadata: Obj, group: str) -> Iterator[Cause]:
    if not any(group == one or group.endswith(f".{one}") for one in _PROTECTED):
        return
    where, approval = f"metadata.annotations[{_APPROVED}]", (metadata.get("annotations") or {}).get(_APPROVED) or ""
    more = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not approval:
        yield required(where, f'protected groups must have approval annotation "{_APPROVED}", {more}')
    elif not approval.startswith("unapproved") and "://" not in approval:
        told = f'protected groups must have approval annotation "{_APPROVED}"'
        yield invalid(where, approval, f'{told} with either a URL or a reason starting with "unapproved", {more}')
