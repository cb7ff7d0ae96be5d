"""Validation of containers, and of the security contexts of containers and pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    check_names,
    check_port,
    check_port_number_or_name,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_less_than_zero,
    not_supported,
    port_name_errors,
    required,
)
from kinformer.envtest.strategy.source_checks import check_env, check_env_from
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import label_key_errors

__all__ = (
    "check_containers",
    "check_init_containers",
    "check_pod_security",
    "check_quantity",
    "check_resource_name",
)

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_SCHEMES = ("HTTP", "HTTPS")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_STANDARD_RESOURCES = (*_CONTAINER_RESOURCES, "storage", "pods")
_INTEGER_RESOURCES = frozenset(
    (
        *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    )
)


def check_containers(containers: list[Obj], volumes: set[str], path: str) -> Iterator[Cause]:
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        here = f"{path}[{index}]"
        yield from _check_container(container, volumes, here)
        yield from _unique(container.get("name", ""), names, f"{here}.name")
        yield from _check_lifecycle(container, here)
        yield from _check_probes(container, here)
    yield from _check_host_ports(containers, path)


def check_init_containers(containers: list[Obj], regular: list[Obj], volumes: set[str], path: str) -> Iterator[Cause]:
    names = {container.get("name", "") for container in regular}
    for index, container in enumerate(containers):
        here = f"{path}[{index}]"
        yield from _check_container(container, volumes, here)
        policy = container.get("restartPolicy")
        if policy not in (None, "Always"):
            yield not_supported(f"{here}.restartPolicy", policy, ("Always",))
        if container.get("name"):
            yield from _unique(container["name"], names, f"{here}.name")
        if policy == "Always":
            yield from _check_lifecycle(container, here)
            yield from _check_probes(container, here)
        else:
            for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(name) is not None:
                    yield forbidden(f"{here}.{name}", "may not be set for init containers without restartPolicy=Always")


def _unique(name: str, names: set[str], field: str) -> Iterator[Cause]:
    if name in names:
        yield duplicate(field, name)
    names.add(name)


def _check_container(container: Obj, volumes: set[str], path: str) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from check_names(name, f"{path}.name")
    if not container.get("image"):
        yield required(f"{path}.image")
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        yield not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    if ports := container.get("ports"):
        yield from _check_ports(ports, f"{path}.ports")
    if variables := container.get("env"):
        yield from check_env(variables, f"{path}.env")
    for index, source in enumerate(container.get("envFrom") or ()):
        yield from check_env_from(source, f"{path}.envFrom", index)
    if mounts := container.get("volumeMounts"):
        yield from _check_mounts(mounts, volumes, f"{path}.volumeMounts")
    policy = container.get("imagePullPolicy")
    if policy not in _PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", policy, _PULL_POLICIES)
    if resources := container.get("resources"):
        yield from _check_resources(resources, f"{path}.resources")
    if security := container.get("securityContext"):
        yield from _check_container_security(security, f"{path}.securityContext")


def _check_ports(ports: list[Obj], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{path}[{index}]"
        if name := port.get("name"):
            if wrong := port_name_errors(name):
                for why in wrong:
                    yield invalid(f"{here}.name", name, why)
            else:
                yield from _unique(name, names, f"{here}.name")
        if not port.get("containerPort"):
            yield required(f"{here}.containerPort")
        else:
            yield from check_port(port["containerPort"], f"{here}.containerPort")
        if port.get("hostPort"):
            yield from check_port(port["hostPort"], f"{here}.hostPort")
        if (protocol := port.get("protocol", "")) not in _PROTOCOLS:
            yield not_supported(f"{here}.protocol", protocol, _PROTOCOLS)


def _check_host_ports(containers: list[Obj], path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports") or ()):
            if number := port.get("hostPort"):
                key = f"{number}/{port.get('protocol')}/{port.get('hostIP', '')}"
                if key in taken:
                    shown = f"{port.get('protocol')}/{port.get('hostIP', '')}/{number}"
                    yield duplicate(f"{path}[{index}].ports[{place}].hostPort", shown)
                taken.add(key)


def _check_mounts(mounts: list[Obj], volumes: set[str], path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        here = f"{path}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield not_found(f"{here}.name", name)
        if not target:
            yield required(f"{here}.mountPath")
        if target in taken:
            yield invalid(f"{here}.mountPath", target, "must be unique")
        taken.add(target)
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield invalid(f"{here}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive")
        for part in ("subPath", "subPathExpr"):
            # The real server reports these at the list, not at the mount.
            value = mount.get(part) or ""
            if value.startswith("/"):
                yield invalid(f"{path}.{part}", value, "must be a relative path")
            if ".." in value.split("/"):
                yield invalid(f"{path}.{part}", value, "must not contain '..'")


def _check_resources(resources: Obj, path: str) -> Iterator[Cause]:
    limits: Mapping[str, str] = resources.get("limits") or {}
    requests: Mapping[str, str] = resources.get("requests") or {}
    for name, text in sorted(limits.items()):
        yield from _check_resource(name, text, f"{path}.limits[{name}]")
    for name, text in sorted(requests.items()):
        yield from _check_resource(name, text, f"{path}.requests[{name}]")
        limit = limits.get(name)
        overcommit = "/" not in name and not name.startswith("hugepages-")
        if limit is None:
            if not overcommit:
                yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
            continue
        if text == limit:
            continue
        wanted, most = Quantity.parse(text), Quantity.parse(limit)
        if not overcommit and wanted != most:
            yield invalid(f"{path}.requests", text, f"must be equal to {name} limit of {limit}")
        elif wanted > most:
            yield invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limit}")


def _check_resource(name: str, text: str, field: str) -> Iterator[Cause]:
    yield from check_resource_name(name, field, of_container=True)
    yield from check_quantity(name, text, field)


def check_resource_name(name: str, field: str, of_container: bool) -> Iterator[Cause]:
    """Check the name of a resource: one of the API's own, or a name with a domain as its prefix."""
    wrong = label_key_errors(name)
    for why in wrong:
        yield invalid(field, name, why)
    if not wrong and "/" not in name:
        if name not in _STANDARD_RESOURCES and not name.startswith(("hugepages-", "requests.", "limits.")):
            yield invalid(field, name, "must be a standard resource type or fully qualified")
        if of_container and name not in _CONTAINER_RESOURCES and not name.startswith("hugepages-"):
            yield invalid(field, name, "must be a standard resource for containers")


def check_quantity(name: str, text: str, field: str) -> Iterator[Cause]:
    """Check an amount of a resource. It is not negative, and it is an integer where fractions make no sense."""
    amount = Quantity.parse(text)
    if amount.sign < 0:
        yield invalid(field, text, "must be greater than or equal to 0")
    whole = name in _INTEGER_RESOURCES or name.startswith("count/") or ("/" in name and not _is_native(name))
    if whole and amount.milli_value() % 1000:
        yield invalid(field, text, "must be an integer")


def _is_native(name: str) -> bool:
    return "kubernetes.io/" in name


# -- what runs around a container -----------------------------------------------------------------------------------


def _check_lifecycle(container: Obj, path: str) -> Iterator[Cause]:
    lifecycle = container.get("lifecycle") or {}
    for name in ("postStart", "preStop"):
        if (handler := lifecycle.get(name)) is not None:
            yield from _check_handler(handler, f"{path}.lifecycle.{name}")


def _check_probes(container: Obj, path: str) -> Iterator[Cause]:
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        here = f"{path}.{name}"
        yield from _check_handler(probe, here)
        yield from not_less_than_zero(probe, here, *_PROBE_NUMBERS)
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is not None and name == "readinessProbe":
            yield invalid(f"{here}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
        elif grace is not None and grace <= 0:
            yield invalid(f"{here}.terminationGracePeriodSeconds", grace, "must be greater than 0")
        if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
            yield invalid(f"{here}.successThreshold", probe["successThreshold"], "must be 1")


def _check_handler(handler: Obj, path: str) -> Iterator[Cause]:
    given = [name for name in _HANDLERS if handler.get(name) is not None]
    if not given:
        yield required(path, "must specify a handler type")
        return
    yield from _check_action(given[0], handler[given[0]], f"{path}.{given[0]}")
    for name in given[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


def _check_action(kind: str, action: Any, path: str) -> Iterator[Cause]:
    if kind == "exec" and not action.get("command"):
        yield required(f"{path}.command")
    elif kind == "httpGet":
        if not action.get("path"):
            yield required(f"{path}.path")
        yield from check_port_number_or_name(action.get("port"), f"{path}.port")
        if action.get("scheme") not in _SCHEMES:
            yield not_supported(f"{path}.scheme", action.get("scheme"), _SCHEMES)
    elif kind == "tcpSocket":
        yield from check_port_number_or_name(action.get("port"), f"{path}.port")
    elif kind == "grpc":
        yield from check_port(action.get("port", 0), f"{path}.port")


# -- security contexts ----------------------------------------------------------------------------------------------

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


def _check_container_security(context: Obj, path: str) -> Iterator[Cause]:
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
