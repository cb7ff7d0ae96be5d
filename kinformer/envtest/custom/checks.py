"""Check CustomResourceDefinitions. The errors are in the API's words.

If a value is equal in all versions, the API treats it as a value of the definition itself. This matters most for the
schema. The path of its errors is ``spec.validation`` if all versions have the same schema. Otherwise it is that of the
version, for example ``spec.versions[0].schema``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kinformer.envtest.custom.paths import PathError, find_field
from kinformer.envtest.custom.schemas import check_schema
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import duplicate, forbidden, immutable, invalid, not_supported, required
from kinformer.envtest.strategy.webhooks import check_client_service, check_review_versions, check_url
from kinformer.meta.validation import dns1035_label_errors, dns1123_subdomain_errors

__all__ = ("check_definition", "check_definition_update")

_SCOPES = ("Cluster", "Namespaced")
_STRATEGIES = ("None", "Webhook")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE = 8
_MIXED = "may have mixed case, but should otherwise match: "
_APPROVED = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def check_definition(obj: Obj) -> Iterator[Cause]:
    spec, metadata = obj["spec"], obj["metadata"]
    names = spec.get("names") or {}
    wanted = f"{names.get('plural', '')}.{spec.get('group', '')}"
    if metadata.get("name") != wanted:
        yield invalid("metadata.name", metadata.get("name", ""), 'must be spec.names.plural+"."+spec.group')
    yield from _check_group(spec.get("group") or "")
    if (scope := spec.get("scope") or "") not in _SCOPES:
        yield not_supported("spec.scope", scope, _SCOPES) if scope else required("spec.scope")
    yield from _check_versions(spec)
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")
    yield from _check_names(names)
    common = _common(spec)
    if "schema" in common:
        yield from _check_schema(common["schema"], "spec.validation", has_status=_has_status(spec))
    yield from _check_parts(common, "spec", common.get("schema"))
    yield from _check_conversion(spec.get("conversion") or {})
    yield from _check_stored(obj)
    yield from _check_approval(metadata, spec.get("group") or "")
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)


def check_definition_update(obj: Obj, old: Obj) -> Iterator[Cause]:
    """Check the fields that may not change."""
    spec, before = obj["spec"], old["spec"]
    names, old_names = spec.get("names") or {}, before.get("names") or {}
    yield from immutable(spec.get("scope"), before.get("scope"), "spec.scope")
    yield from immutable(names.get("kind"), old_names.get("kind"), "spec.names.kind")
    yield from immutable(spec.get("group"), before.get("group"), "spec.group")
    yield from immutable(names.get("plural"), old_names.get("plural"), "spec.names.plural")


def _check_group(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif wrong := dns1123_subdomain_errors(group):
        yield invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


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


def _has_status(spec: Obj) -> bool:
    return any((one.get("subresources") or {}).get("status") is not None for one in spec.get("versions") or ())


def _check_versions(spec: Obj) -> Iterator[Cause]:
    versions, common = spec.get("versions") or [], _common(spec)
    if (common.get("schema") or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    names = [one.get("name") or "" for one in versions]
    for index, version in enumerate(versions):
        here = f"spec.versions[{index}]"
        if wrong := dns1035_label_errors(names[index]):
            yield invalid(f"{here}.name", names[index], ",".join(wrong))
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
    return [
        {
            "Name": one.get("name") or "",
            "Served": bool(one.get("served")),
            "Storage": bool(one.get("storage")),
            "Deprecated": bool(one.get("deprecated")),
            "DeprecationWarning": one.get("deprecationWarning"),
            "Schema": None,
            "Subresources": None,
            "AdditionalPrinterColumns": None,
            "SelectableFields": None,
        }
        for one in versions
    ]


def _check_schema(validation: Mapping[str, Any], path: str, *, has_status: bool) -> list[Cause]:
    schema = validation.get("openAPIV3Schema")
    return [] if schema is None else check_schema(schema, f"{path}.openAPIV3Schema", has_status=has_status)


def _check_names(names: Obj) -> Iterator[Cause]:
    for name in ("plural", "singular"):
        if (value := names.get(name)) and (wrong := dns1035_label_errors(value)):
            yield invalid(f"spec.names.{name}", value, ",".join(wrong))
    for name in ("kind", "listKind"):
        if (value := names.get(name)) and (wrong := dns1035_label_errors(value.lower())):
            yield invalid(f"spec.names.{name}", value, _MIXED + ",".join(wrong))
    kind, list_kind = names.get("kind"), names.get("listKind")
    for name in ("shortNames", "categories"):
        if name == "categories" and kind and kind == list_kind:
            yield invalid("spec.names.listKind", list_kind, "kind and listKind may not be the same")
        for index, value in enumerate(names.get(name) or ()):
            if wrong := dns1035_label_errors(value):
                yield invalid(f"spec.names.{name}[{index}]", value, ",".join(wrong))


def _check_parts(parts: Mapping[str, Any], path: str, validation: Any) -> Iterator[Cause]:
    yield from _check_scale((parts.get("subresources") or {}).get("scale"), f"{path}.subresources")
    for index, column in enumerate(parts.get("additionalPrinterColumns") or ()):
        yield from _check_column(column, f"{path}.additionalPrinterColumns[{index}]")
    schema = (validation or {}).get("openAPIV3Schema")
    if (fields := parts.get("selectableFields")) and schema is not None:
        yield from _check_selectable(fields, schema, f"{path}.selectableFields")


def _check_scale(scale: Any, path: str) -> Iterator[Cause]:
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        value = scale.get(name) or ""
        here = f"{path}.scale.{name}"
        if not value:
            yield required(here)
        elif not value.startswith("."):
            yield invalid(here, value, "must be a simple json path starting with .")
        elif not value.startswith(root):
            yield invalid(here, value, f"should be a json path under {root[:-1]}")
    if value := scale.get("labelSelectorPath"):
        here = f"{path}.scale.labelSelectorPath"
        if not value.startswith("."):
            yield invalid(here, value, "must be a simple json path starting with .")
        elif not value.startswith((".spec.", ".status.")):
            yield invalid(here, value, "should be a json path under either .spec or .status")


def _check_column(column: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{path}.name")
    type_ = column.get("type") or ""
    if type_ not in _COLUMN_TYPES:
        text = f"must be one of {','.join(_COLUMN_TYPES)}"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    if (form := column.get("format")) and form not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    json_path = column.get("jsonPath") or ""
    if not json_path:
        yield required(f"{path}.JSONPath")
    elif not json_path.startswith("."):
        yield invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with .")


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
        text = f"Too many: {len(seen)}: must have at most {_MOST_SELECTABLE} items"
        yield Cause(path, "FieldValueTooMany", text)


def _check_conversion(conversion: Mapping[str, Any]) -> Iterator[Cause]:
    path, strategy = "spec.conversion", conversion.get("strategy") or ""
    if strategy not in _STRATEGIES:
        yield not_supported(f"{path}.strategy", strategy, _STRATEGIES) if strategy else required(f"{path}.strategy")
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    here = f"{path}.webhookClientConfig"
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden(here, text)
        if versions:
            yield forbidden(f"{path}.conversionReviewVersions", text)
        return
    if client is None:
        yield required(here, "required when strategy is set to Webhook")
    elif (client.get("url") is None) == (client.get("service") is None):
        yield required(here, "exactly one of url or service is required")
    elif client.get("url") is not None:
        yield from check_url(client["url"], f"{here}.url")
    else:
        yield from check_client_service(client["service"], f"{here}.service")
    yield from check_review_versions(versions, f"{path}.conversionReviewVersions", told="")


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
