"""Validation of the sources of environment variables and volumes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    check_names,
    check_token_lifetime,
    data_key_errors,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors, label_key_errors

__all__ = ("check_env", "check_env_from", "check_volume_source")

_TOLD = read_yaml(__package__, "pod_fields.yaml")
_RESOURCES, _SIZES = _TOLD["resources"], _TOLD["sizes"]
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_DIVISORS = {"memory": _SIZES, "ephemeral-storage": _SIZES, "hugepages": _SIZES, "cpu": ("1m", "1")}
_DIVIDED = {"ephemeral-storage": "local ephemeral storage"}
_subscripted = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL).fullmatch


def check_env(variables: list[Obj], path: str) -> Iterator[Cause]:
    for index, variable in enumerate(variables):
        here = f"{path}[{index}]"
        name = variable.get("name", "")
        if not name:
            yield required(f"{here}.name")
        elif "=" in name or not name.isascii() or not name.isprintable():
            text = (
                "a valid environment variable name must consist only of printable ASCII characters other than '=' "
                "(regex used for validation is '[ -<>-~]+')"
            )
            yield invalid(f"{here}.name", name, text)
        source = variable.get("valueFrom")
        if source is not None:
            yield from _check_value_source(source, variable, f"{here}.valueFrom")


def _check_value_source(source: Obj, variable: Obj, path: str) -> Iterator[Cause]:
    if (told := source.get("fieldRef")) is not None:
        yield from _check_told_field(told, _TOLD["in variables"], f"{path}.fieldRef")
    if (told := source.get("resourceFieldRef")) is not None:
        yield from _check_told_resource(told, f"{path}.resourceFieldRef")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.get(kind)) is not None:
            yield from check_names(reference.get("name", ""), f"{path}.{kind}.name", dns1123_subdomain_errors)
            if not reference.get("key"):
                yield required(f"{path}.{kind}.key")
            else:
                for why in data_key_errors(reference["key"]):
                    yield invalid(f"{path}.{kind}.key", reference["key"], why)
    if (reference := source.get("fileKeyRef")) is not None:
        for part in ("key", "volumeName", "path"):
            if not reference.get(part):
                yield required(f"{path}.fileKeyRef.{part}")
            elif part == "volumeName":
                yield from check_names(reference[part], f"{path}.fileKeyRef.{part}", dns1123_label_errors)
    if not source:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {kinds}")
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _check_told_field(told: Obj, supported: Sequence[str], path: str) -> Iterator[Cause]:
    version, label = told.get("apiVersion", ""), told.get("fieldPath", "")
    here = f"{path}.fieldPath"
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not label:
        yield required(here)
        return
    subscript = _subscripted(label)
    if version != "v1":
        yield invalid(here, label, f"error converting fieldPath: unsupported pod version: {version}")
    elif subscript is None:
        if label not in _TOLD["fields"]:
            yield invalid(here, label, f"error converting fieldPath: field label not supported: {label}")
        elif (label := "spec.nodeName" if label == "spec.host" else label) not in supported:
            yield not_supported(here, label, supported)
    elif subscript[1] not in ("metadata.annotations", "metadata.labels"):
        yield invalid(here, label, f"error converting fieldPath: field label does not support subscript: {label}")
    else:
        # The real server reports these at the reference, not at its path.
        key = subscript[2].lower() if subscript[1] == "metadata.annotations" else subscript[2]
        for why in label_key_errors(key):
            yield invalid(path, key, why)


def _check_told_resource(told: Obj, path: str, of_volume: bool = False) -> Iterator[Cause]:
    resource = told.get("resource", "")
    if of_volume and not told.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    divisor = told.get("divisor") or "0"
    if Quantity.parse(divisor) == Quantity.parse("0"):
        return
    kind = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    if kind in _DIVISORS and (kind == "hugepages" or resource in _RESOURCES) and divisor not in _DIVISORS[kind]:
        values = "1m and 1" if kind == "cpu" else ", ".join(_SIZES)
        text = f"only divisor's values {values} are supported with the {_DIVIDED.get(kind, kind)} resource"
        yield invalid(f"{path}.divisor", resource, text)


def check_env_from(source: Obj, path: str, index: int) -> Iterator[Cause]:
    here = f"{path}[{index}]"
    kinds = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
    for kind in kinds:
        name = source[kind].get("name", "")
        if not name:
            yield required(f"{here}.{kind}.name")
        else:
            yield from check_names(name, f"{here}.{kind}.name", dns1123_subdomain_errors)
    # The real server reports this at the list, not at the source.
    if not kinds:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_REQUIRED_IN_VOLUME = {
    "secret": "secretName",
    "configMap": "name",
    "persistentVolumeClaim": "claimName",
    "ephemeral": "volumeClaimTemplate",
    "hostPath": "path",
    "nfs": "server",
    "csi": "driver",
}


def check_volume_source(volume: Obj, path: str) -> Iterator[Cause]:
    sources = [name for name in volume if name != "name"]
    if not sources:
        yield required(path, "must specify a volume type")
    for name in sources[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")
    for name in sources[:1]:
        source: Any = volume[name]
        here = f"{path}.{name}"
        field = _REQUIRED_IN_VOLUME.get(name)
        if field is not None and not source.get(field):
            yield required(f"{here}.{field}")
        if not isinstance(source, dict):
            continue
        yield from _check_mode(source.get("defaultMode"), f"{here}.defaultMode")
        if name in ("secret", "configMap"):
            yield from _check_items(source, here)
        if name in _SOURCE_CHECKS:
            yield from _SOURCE_CHECKS[name](source, here)


def _check_host_path(source: Obj, path: str) -> Iterator[Cause]:
    if not source.get("path"):
        return
    if ".." in source["path"].split("/"):
        yield invalid(f"{path}.path", source["path"], "must not contain '..'")
    if (kind := source.get("type")) not in (None, *_HOST_PATHS):
        yield not_supported(f"{path}.type", kind, _HOST_PATHS)


def _check_empty_dir(source: Obj, path: str) -> Iterator[Cause]:
    if Quantity.parse(source.get("sizeLimit") or "0") < Quantity.parse("0"):
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_nfs(source: Obj, path: str) -> Iterator[Cause]:
    if not source.get("path"):
        yield required(f"{path}.path")
    if not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _check_downward(source: Obj, path: str) -> Iterator[Cause]:
    # The real server reports these at the source, not at the file.
    for file in source.get("items") or ():
        yield from _check_told_file(file, path)


def _check_told_file(file: Obj, path: str) -> Iterator[Cause]:
    if not file.get("path"):
        yield required(f"{path}.path")
    yield from _check_local_path(file.get("path", ""), f"{path}.path")
    if (told := file.get("fieldRef")) is not None:
        yield from _check_told_field(told, _TOLD["in files"], f"{path}.fieldRef")
        if file.get("resourceFieldRef") is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif (told := file.get("resourceFieldRef")) is not None:
        yield from _check_told_resource(told, f"{path}.resourceFieldRef", of_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _check_mode(file.get("mode"), f"{path}.mode")


def _check_projected(source: Obj, path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, one in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{index}]"
        for kind in ("secret", "configMap", "downwardAPI"):
            if (part := one.get(kind)) is None:
                continue
            if kind != "downwardAPI":
                if not part.get("name"):
                    yield required(f"{here}.{kind}.name")
                yield from _check_items(part, f"{here}.{kind}")
            else:
                yield from _check_downward(part, f"{here}.{kind}")
            for item in part.get("items") or ():
                if (target := item.get("path")) and target in taken:
                    yield invalid(path, part.get("name", target), "conflicting duplicate paths")
                taken.add(target or "")
        if (token := one.get("serviceAccountToken")) is not None:
            seconds, field = token.get("expirationSeconds", 0), f"{here}.serviceAccountToken.expirationSeconds"
            yield from check_token_lifetime(seconds, field)
            if not token.get("path"):
                yield required(f"{path}.path")
            else:
                yield from _check_local_path(token["path"], f"{path}.path")
        if len(one) > 1:
            yield forbidden(here, "may not specify more than 1 volume type per source")


_SOURCE_CHECKS = {
    "hostPath": _check_host_path,
    "emptyDir": _check_empty_dir,
    "nfs": _check_nfs,
    "downwardAPI": _check_downward,
    "projected": _check_projected,
}


def _check_mode(mode: Any, field: str) -> Iterator[Cause]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _check_local_path(target: str, field: str) -> Iterator[Cause]:
    if target.startswith("/"):
        yield invalid(field, target, "must be a relative path")
    if ".." in target.split("/"):
        yield invalid(field, target, "must not contain '..'")
    if target.startswith("..") and not target.startswith("../"):
        yield invalid(field, target, "must not start with '..'")


def _check_items(source: Obj, path: str) -> Iterator[Cause]:
    for index, item in enumerate(source.get("items") or ()):
        here = f"{path}.items[{index}]"
        for name in ("key", "path"):
            if not item.get(name):
                yield required(f"{here}.{name}")
        yield from _check_local_path(item.get("path", ""), f"{here}.path")
        yield from _check_mode(item.get("mode"), f"{here}.mode")
