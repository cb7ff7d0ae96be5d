"""Request bodies: decode bytes to an object, or raise the real server's error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.apply import Managed
from kinformer.envtest.causes import invalid, not_supported
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.handlers.protobuf import BadProtobuf, read_protobuf
from kinformer.envtest.handlers.yaml_bodies import BadYaml, lines_of, read_yaml_body
from kinformer.envtest.jsontext import MOST_TOLD, BadJson, decode, duplicate_fields
from kinformer.envtest.operations import DeleteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import Problems, check_model, is_known, json_type
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.meta.names import GroupKind, GroupVersion, GroupVersionKind

__all__ = (
    "check_foreign",
    "decode_delete_options",
    "decode_foreign",
    "decode_object",
    "delete_options_of",
    "finish_object",
    "media_type",
    "not_registered",
    "read_json",
    "read_yaml",
)

_JSON = "application/json"
_YAML = "application/yaml"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_OF_DELETES = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
Refuse = Callable[[str], status.StatusError]
_POLICIES = ("Foreground", "Background", "Orphan")


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower() or _JSON


def read_json(body: bytes, what: str) -> Any:
    """
    :param what: the beginning of the error text
    :raises StatusError: BadRequest
    """
    try:
        return decode(body)
    except BadJson as error:
        raise status.bad_request(f"{what}{error}") from None


def _read(call: Call, refuse: Refuse) -> tuple[Any, str]:
    """
    Decode a body. Returns the value, and the text about duplicate keys in its YAML, or an empty text.

    :param refuse: makes the error for a body that cannot be decoded
    :raises StatusError: this error, or UnsupportedMediaType
    """
    type_ = media_type(call.content_type)
    try:
        if type_ == _JSON:
            return decode(call.body), ""
        if type_ == _YAML:
            return read_yaml_body(call.body)
        if type_ == _PROTOBUF:
            with suppress(LookupError):  # custom resources
                return read_protobuf(call.body, _FOREIGN), ""
    except BadJson as error:
        raise refuse(f"couldn't get version/kind; json parse error: {error}") from None
    except (BadYaml, BadProtobuf) as error:
        raise refuse(str(error)) from None
    raise status.unsupported_media_type()


def _unrecognized(call: Call, kind: str) -> Refuse:
    """Makes the error for a body whose kind cannot be read."""
    head = f"the object provided is unrecognized (must be of type {kind})"
    return lambda why: status.bad_request(f"{head}: {why} ({_shortened(call.body)})")


def read_yaml(call: Call) -> tuple[Obj, str]:
    """
    Decode an object in YAML, for apply. Returns the object, and the text about duplicate keys.

    :raises StatusError: BadRequest
    """
    try:
        data, twice = read_yaml_body(call.body)
    except BadYaml as error:
        raise status.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if data is None:
        return {}, ""
    if not isinstance(data, dict):
        why = f"json: cannot unmarshal {json_type(data)} into Go value of type map[string]interface {{}}"
        raise status.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    return data, twice


def _shortened(body: bytes) -> str:
    """
    A body as the real server shows it in errors: its beginning. It is in hexadecimal if the body is not an object.
    """
    if not body:
        return "<empty>"
    shown = body[:30].decode("utf-8", "replace") if body.startswith(b"{") else body[:30].hex()
    return shown + (" ..." if len(body) > 30 else "")


def decode_object(call: Call, strategy: Strategy) -> Obj:
    """
    Decode the object of a create or an update.

    :return: the object in its stored form and with defaults, without kind and apiVersion
    :raises StatusError: BadRequest, UnsupportedMediaType
    """
    resource = call.target.resource
    refuse = _unrecognized(call, resource.kind)
    data, in_yaml = _read(call, refuse)
    data = _check_form(data, refuse)
    if resource.is_custom:
        _check_custom_kind(data, resource)
    twice = duplicate_fields(call.body, data) if media_type(call.content_type) == _JSON else []

    def tell(unknown: list[str]) -> list[str]:
        # Kubernetes' decoder of built-in kinds tells at most 100 of them. For custom resources there is no limit.
        most = None if resource.is_custom else MOST_TOLD
        return ([in_yaml] if in_yaml else []) + (twice + unknown)[:most]

    return finish_object(call, strategy, _of_kind(data, call.gvk), tell=tell)


def _check_custom_kind(data: Obj, resource: Resource, name: str = "") -> None:
    """
    A custom resource must have kind and apiVersion, because no built-in type gives their defaults.

    :param name: the name for the error, if the object has none
    :raises StatusError: BadRequest if one is missing. Invalid if the object has another kind
    """
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if kind in (None, ""):
        raise status.bad_request("Object 'Kind' is missing in 'object has no kind field '")
    if api_version in (None, ""):
        text = f"the API version in the data () does not match the expected API version ({resource.api_version})"
        raise status.bad_request(text)
    if api_version == resource.api_version and isinstance(kind, str) and kind != resource.kind:
        metadata = data.get("metadata")
        name = (metadata.get("name") if isinstance(metadata, dict) else None) or name
        wrong = invalid("kind", kind, f"must be {resource.kind}")
        raise status.invalid(GroupKind(resource.group, kind), str(name), [wrong])


_FOREIGN = {
    "Binding": "V1Binding",
    "DeleteOptions": "V1DeleteOptions",
    "Eviction": "V1Eviction",
    "Scale": "V1Scale",
    "TokenRequest": "AuthenticationV1TokenRequest",
}


def decode_foreign(call: Call) -> Obj:
    """Decode the body of a subresource that has another kind: a scale, a binding, an eviction."""
    refuse = _unrecognized(call, call.gvk.kind)
    return check_foreign(call, call.gvk, _of_kind(_check_form(_read(call, refuse)[0], refuse), call.gvk))


def check_foreign(call: Call, gvk: GroupVersionKind, data: Any, refuse: Refuse | None = None) -> Obj:
    """
    Check an object of such a kind against its type.

    :param refuse: makes the error for a wrong value. The default is the error for a wrong body
    :raises StatusError: BadRequest
    """
    problems = Problems()
    checked = check_model(_FOREIGN[gvk.kind], data, problems)
    _tell(call, problems, refuse or _refuse_body(gvk))
    checked.setdefault("metadata", {})
    return checked


def _check_form(data: Any, refuse: Refuse) -> Obj:
    """
    Check the types of kind and apiVersion in a decoded body. An empty body becomes an empty object.

    :param refuse: makes the error for a body that is not an object, or whose kind or apiVersion is invalid
    """
    if data is None:
        return {}
    head = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    if not isinstance(data, dict):
        fields = 'APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\""'
        raise refuse(f"{head} {json_type(data)} into Go value of type struct {{ {fields} }}")
    for name in ("apiVersion", "kind"):
        value = data.get(name)
        if value is not None and not isinstance(value, str):
            raise refuse(f"{head} {json_type(value)} into Go struct field .{name} of type string")
    version = data.get("apiVersion") or ""
    if version.count("/") > 1:
        raise refuse(f"unexpected GroupVersion string: {version}")
    return data


def _of_kind(data: Obj, want: GroupVersionKind) -> Obj:
    """
    Check that an object has the expected kind. A missing kind or apiVersion is accepted.

    :raises StatusError: BadRequest if the object has another kind
    """
    api_version = data.get("apiVersion") or ""
    got = GroupVersion.parse(api_version) if api_version else GroupVersion(want.group, want.version)
    kind = data.get("kind") or want.kind
    if (got.group, got.version, kind) != want:
        raise _wrong_kind(GroupVersionKind(got.group, got.version, kind), want)
    return data


def _wrong_kind(got: GroupVersionKind, want: GroupVersionKind) -> status.StatusError:
    cannot = f'{got.kind} in version "{got.version}" cannot be handled as a {want.kind}'
    is_same = got.kind == want.kind and (got.group == want.group or got.kind == "Event")
    if is_known(want) and not is_known(got):
        return status.bad_request(f"{cannot}: {not_registered(got.kind, got.api_version)}")
    if is_known(want) and not is_same:
        package = want.group.partition(".")[0] or "core"
        return status.bad_request(
            f"{cannot}: converting ({got.version}.{got.kind}) to ({package}.{want.kind}): unknown conversion"
        )
    return status.bad_request(
        f"the API version in the data ({got.api_version}) does not match the expected API version ({want.api_version})"
    )


def not_registered(kind: str, version: str) -> str:
    scheme = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
    return f'no kind "{kind}" is registered for version "{version}" {scheme}'


def finish_object(
    call: Call,
    strategy: Strategy,
    data: Obj,
    settled: Obj | None = None,
    tell: Callable[[list[str]], list[str]] | None = None,
    refuse: Refuse | None = None,
) -> Obj:
    """
    Bring data into the form in which it is stored: known fields only, canonical values, defaults.

    :param settled: fields of the object, and of its metadata, that are in that form already
    :param tell: takes the texts about unknown fields, and returns all texts about the fields of the data
    :param refuse: makes the error for a wrong value. The default is the error for a wrong body
    :raises StatusError: BadRequest for values of wrong types, and for unknown fields if the request is strict
    """
    resource = call.target.resource
    if resource.is_custom and data.get("kind", resource.kind) != resource.kind:
        _check_custom_kind(data, resource, call.name)
    data.pop("kind", None)
    data.pop("apiVersion", None)
    is_metadata_alone = settled is not None and len(data) == 1 and "metadata" in data
    managed = _take_managed(data)
    problems = Problems("apply-patch" in call.content_type)
    obj = strategy.check(data, problems)
    _tell(call, problems, refuse or _refuse_body(resource.gvk), tell)
    if settled:
        metadata = obj.get("metadata")
        obj |= settled
        if metadata is not None and "metadata" in settled:
            obj["metadata"] = {**metadata, **settled["metadata"]}
    metadata = obj.setdefault("metadata", {})
    if managed is not None:
        metadata["managedFields"] = managed
    # A stored object has its defaults already.
    if not (is_metadata_alone and strategy.defaults_leave_metadata):
        strategy.default(obj)
    return obj


def _refuse_body(gvk: GroupVersionKind) -> Refuse:
    head = f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}'
    return lambda why: status.bad_request(f"{head}: {why}")


def _tell(call: Call, problems: Problems, refuse: Refuse, tell: Callable[[list[str]], list[str]] | None = None) -> None:
    """Refuse a body with a wrong value. Warn of unknown fields, or refuse them."""
    if problems.error is not None:
        raise refuse(problems.error)
    told = problems.unknown if tell is None else tell(problems.unknown)
    if told and "delete" not in call.verb and (mode := call.query.get("fieldValidation")) != "Ignore":
        if mode == "Strict":
            raise refuse(f"strict decoding error: {', '.join(told)}")
        call.warnings += [line for text in told for line in lines_of(text)]


def _take_managed(data: Obj) -> Managed | list[Any] | None:
    """The managed fields that need no check: those of an apply, which are taken out of the data, and an empty list."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return None
    managed = metadata["managedFields"]
    if isinstance(managed, Managed):
        del metadata["managedFields"]
        return managed
    return [] if managed == [] else None


def decode_delete_options(call: Call) -> DeleteOptions:
    """
    What a delete's body or query asks for.

    :raises StatusError: BadRequest; Invalid for options that contradict themselves
    """
    if call.body:
        data = _check_form(_read(call, status.bad_request)[0], status.bad_request)
        if data.get("kind", "DeleteOptions") != "DeleteOptions":
            raise status.bad_request(
                f'no kind "{data["kind"]}" is registered for version "{data.get("apiVersion") or "v1"}"'
            )
        data = check_foreign(call, GroupVersionKind("", "v1", "DeleteOptions"), data)
        # Who sends a body says everything there; the query is not looked at.
        query = {name: text for name, text in call.query.items() if name not in _OF_DELETES}
        if dry_run := data.get("dryRun"):
            query["dryRun"] = ",".join(dry_run)
        call.query = query
    else:
        data = {
            "gracePeriodSeconds": call.number("gracePeriodSeconds"),
            "orphanDependents": call.is_set("orphanDependents") if "orphanDependents" in call.query else None,
            "propagationPolicy": call.query.get("propagationPolicy"),
            "preconditions": {name: call.query.get(name) or None for name in ("uid", "resourceVersion")},
        }
    return delete_options_of(data)


def delete_options_of(data: Obj) -> DeleteOptions:
    """
    Options of a delete from their JSON data.

    :raises StatusError: Invalid for options that contradict themselves
    """
    preconditions = data.get("preconditions") or {}
    options = DeleteOptions(
        data.get("gracePeriodSeconds"),
        data.get("propagationPolicy") or None,
        data.get("orphanDependents"),
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
    )
    field, policy, causes = "propagationPolicy", options.propagation, []
    if policy is not None and options.orphan_dependents is not None:
        causes.append(invalid(field, policy, "orphanDependents and deletionPropagation cannot be both set"))
    if policy is not None and policy not in _POLICIES:
        causes.append(not_supported(field, policy, (*_POLICIES, "nil")))
    if causes:
        raise status.invalid_options("DeleteOptions", *causes)
    return options
