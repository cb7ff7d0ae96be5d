"""Validation of the sources of environment variables and volumes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kinformer.envtest.causes import forbidden, invalid, not_supported, required
from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import check_token_lifetime
from kinformer.meta.quantity import Quantity

__all__ = ("ENV", "check_absolute", "check_env_from", "check_no_steps_up", "check_relative", "check_volume_source")

_TOLD = read_yaml(__package__, "pod_fields.yaml")
_RESOURCES, _SIZES = _TOLD["resources"], _TOLD["sizes"]
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_DIVISORS = {"memory": _SIZES, "ephemeral-storage": _SIZES, "hugepages": _SIZES, "cpu": ("1m", "1")}
_DIVIDED = {"ephemeral-storage": "local ephemeral storage"}
_subscripted = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL).fullmatch

# -- what a pod tells of itself ----------------------------------------------------------------------------------------


def _check_told_field(told: Obj, supported: Sequence[str], path: str) -> Iterator[Cause]:
    version, label = told.get("apiVersion", ""), told.get("fieldPath", "")
    here = f"{path}.fieldPath"
    subscript = _subscripted(label)
    if not version:
        yield required(f"{path}.apiVersion")
    elif not label:
        yield required(here)
    elif version != "v1":
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
        yield from f.QUALIFIED_NAME(key, path)


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


# -- environment variables ---------------------------------------------------------------------------------------------


_VARIABLE_NAME = f.Must(
    lambda name: "=" not in name and name.isascii() and name.isprintable(),
    "a valid environment variable name must consist only of printable ASCII characters other than '=' "
    "(regex used for validation is '[ -<>-~]+')",
)


def _check_one_value(variable: Obj, path: str) -> Iterator[Cause]:
    source, path = variable.get("valueFrom"), f"{path}.valueFrom"
    if source is None:
        return
    if not source:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {kinds}")
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


_KEY_REFERENCE = f.Given(f.Fields(name=f.DNS_SUBDOMAIN, key=f.Needed(f.DATA_KEY)))
ENV = f.Each(
    f.Fields(
        name=f.Needed(_VARIABLE_NAME),
        valueFrom=f.Fields(
            fieldRef=f.Given(lambda told, path: _check_told_field(told, _TOLD["in variables"], path)),
            resourceFieldRef=f.Given(_check_told_resource),
            configMapKeyRef=_KEY_REFERENCE,
            secretKeyRef=_KEY_REFERENCE,
            fileKeyRef=f.Given(f.Fields(key=f.Needed(), volumeName=f.Needed(f.DNS_LABEL), path=f.Needed())),
        ),
    ),
    _check_one_value,
)
_WHOLE_REFERENCE = f.Given(f.Fields(name=f.Needed(f.DNS_SUBDOMAIN)))
_ENV_FROM = f.Fields(configMapRef=_WHOLE_REFERENCE, secretRef=_WHOLE_REFERENCE)


def check_env_from(source: Obj, path: str, index: int) -> Iterator[Cause]:
    yield from _ENV_FROM(source, f"{path}[{index}]")
    kinds = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
    # The real server reports this at the list, not at the source.
    if not kinds:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


# -- volumes -----------------------------------------------------------------------------------------------------------


def check_volume_source(volume: Obj, path: str) -> Iterator[Cause]:
    members = [name for name in volume if name != "name"]
    yield from f.check_union(volume, path, members, _VOLUMES, "volume type")


check_no_steps_up = f.Must(lambda target: ".." not in target.split("/"), "must not contain '..'")
check_absolute = f.Must(lambda target: target.startswith("/"), "must be an absolute path")


def _check_size(size: str, path: str) -> Iterator[Cause]:
    if Quantity.parse(size) < Quantity.parse("0"):
        yield forbidden(path, "SizeLimit field must be a valid resource quantity")


def _check_downward(source: Obj, path: str) -> Iterator[Cause]:
    # The real server reports these at the source, not at the file.
    for file in source.get("items") or ():
        yield from _TOLD_FILE(file, path)


def _check_told_file(file: Obj, path: str) -> Iterator[Cause]:
    if (told := file.get("fieldRef")) is not None:
        yield from _check_told_field(told, _TOLD["in files"], f"{path}.fieldRef")
        if file.get("resourceFieldRef") is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif (told := file.get("resourceFieldRef")) is not None:
        yield from _check_told_resource(told, f"{path}.resourceFieldRef", of_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")


def _check_projected(source: Obj, path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, one in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{index}]"
        for kind, check in _PROJECTED.items():
            if (part := one.get(kind)) is None:
                continue
            yield from check(part, f"{here}.{kind}")
            for item in part.get("items") or ():
                if (target := item.get("path")) and target in taken:
                    yield invalid(path, part.get("name", target), "conflicting duplicate paths")
                taken.add(target or "")
        if (token := one.get("serviceAccountToken")) is not None:
            seconds, field = token.get("expirationSeconds", 0), f"{here}.serviceAccountToken.expirationSeconds"
            yield from check_token_lifetime(seconds, field)
            # The real server reports this at the volume, not at the source.
            yield from f.Fields(path=f.Needed(_check_local_path))(token, path)
        if len(one) > 1:
            yield forbidden(here, "may not specify more than 1 volume type per source")


def check_relative(target: str, path: str) -> Iterator[Cause]:
    if target.startswith("/"):
        yield invalid(path, target, "must be a relative path")
    yield from check_no_steps_up(target, path)


def _check_local_path(target: str | None, path: str) -> Iterator[Cause]:
    target = target or ""
    yield from check_relative(target, path)
    if target.startswith("..") and not target.startswith("../"):
        yield invalid(path, target, "must not start with '..'")


_MODE = f.Between(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")
_PATH = f.Every(f.Needed(), _check_local_path)
_FILES = f.Fields(items=f.Each(f.Fields(key=f.Needed(), path=_PATH, mode=_MODE)))
_TOLD_FILE = f.Every(f.Fields(path=_PATH), _check_told_file, f.Fields(mode=_MODE))
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_HOST_PATH_TYPE = f.Fields(path=check_no_steps_up, type=f.Given(f.OneOf(*_HOST_PATHS)))
_PROJECTED: dict[str, f.Check] = {
    "secret": f.Every(f.Fields(name=f.Needed()), _FILES),
    "configMap": f.Every(f.Fields(name=f.Needed()), _FILES),
    "downwardAPI": _check_downward,
}
_VOLUMES: dict[str, f.Check] = {
    "secret": f.Every(f.Fields(secretName=f.Needed(), defaultMode=_MODE), _FILES),
    "configMap": f.Every(f.Fields(name=f.Needed(), defaultMode=_MODE), _FILES),
    "persistentVolumeClaim": f.Fields(claimName=f.Needed()),
    "ephemeral": f.Fields(volumeClaimTemplate=f.Needed()),
    "hostPath": f.Every(f.Fields(path=f.Needed()), lambda it, at: _HOST_PATH_TYPE(it, at) if it.get("path") else ()),
    "emptyDir": f.Fields(sizeLimit=f.Filled(_check_size)),
    "nfs": f.Fields(server=f.Needed(), path=f.Every(f.Needed(), check_absolute)),
    "csi": f.Fields(driver=f.Needed()),
    "downwardAPI": f.Every(f.Fields(defaultMode=_MODE), _check_downward),
    "projected": f.Every(f.Fields(defaultMode=_MODE), _check_projected),
}
