"""Validation of the security contexts of pods and containers."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import duplicate, invalid, not_supported, required

__all__ = ("check_container_security", "check_pod_security")

_MOST = 2147483647
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_ID = f"must be between 0 and {_MOST}, inclusive"


def _check_ids(context: Obj, path: str, *names: str) -> Iterator[Cause]:
    for name in names:
        value = context.get(name)
        if value is not None and not 0 <= value <= _MOST:
            yield invalid(f"{path}.{name}", value, _ID)


def _check_profiles(context: Obj, path: str) -> Iterator[Cause]:
    for name in ("seccompProfile", "appArmorProfile"):
        profile = context.get(name)
        if profile is None:
            continue
        kind, here = profile.get("type", ""), f"{path}.{name}"
        if kind == "Localhost":
            if not profile.get("localhostProfile"):
                yield required(f"{here}.localhostProfile", "must be set when seccomp type is Localhost")
        elif profile.get("localhostProfile") is not None:
            text = "can only be set when seccomp type is Localhost"
            yield invalid(f"{here}.localhostProfile", profile["localhostProfile"], text)
        if not kind:
            yield required(f"{here}.type", "type is required when seccompProfile is set")
        elif kind not in _PROFILES:
            yield not_supported(f"{here}.type", kind, _PROFILES)


def check_container_security(context: Obj, path: str) -> Iterator[Cause]:
    yield from _check_ids(context, path, "runAsUser", "runAsGroup")
    if (mount := context.get("procMount")) not in (None, "Default", "Unmasked"):
        yield not_supported(f"{path}.procMount", mount, ("Default", "Unmasked"))
    yield from _check_profiles(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        denied = "cannot set `allowPrivilegeEscalation` to false and "
        if context.get("privileged"):
            yield invalid(path, context, f"{denied}`privileged` to true")
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield invalid(path, context, f"{denied}`capabilities.Add` CAP_SYS_ADMIN")


def check_pod_security(spec: Obj, context: Obj, path: str) -> Iterator[Cause]:
    yield from _check_ids(context, path, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _MOST:
            yield invalid(f"{path}.supplementalGroups[{index}]", group, _ID)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, text)
    names: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        name, here = sysctl.get("name", ""), f"{path}.sysctls[{index}].name"
        if not name:
            yield required(here)
        elif name in names:
            yield duplicate(here, name)
        names.add(name)
    policies = ("OnRootMismatch", "Always")
    if (policy := context.get("fsGroupChangePolicy")) not in (None, *policies):
        yield not_supported(f"{path}.fsGroupChangePolicy", policy, policies)
    yield from _check_profiles(context, path)
    policies = ("Merge", "Strict")
    if (policy := context.get("supplementalGroupsPolicy")) not in (None, *policies):
        yield not_supported(f"{path}.supplementalGroupsPolicy", policy, policies)
