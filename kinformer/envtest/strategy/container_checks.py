"""Validation of containers, and of the security contexts of containers and pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kinformer.envtest.causes import NEGATIVE, duplicate, forbidden, invalid, not_found, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import check_port, check_port_number_or_name, port_name_errors
from kinformer.envtest.strategy.metadata import key_errors
from kinformer.envtest.strategy.source_checks import ENV, check_env_from, check_relative
from kinformer.meta.quantity import Quantity

__all__ = (
    "check_containers",
    "check_ephemeral_containers",
    "check_init_containers",
    "check_pod_security",
    "check_quantity",
    "check_resource_name",
)

_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_STANDARD_RESOURCES = (*_CONTAINER_RESOURCES, "storage", "pods")
_INTEGER_RESOURCES = frozenset(
    (
        *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    )
)
_AROUND = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def check_containers(containers: list[Obj], volumes: set[str], path: str) -> Iterator[Cause]:
    if not containers:
        yield required(path)
        return
    names = f.Unique("name").over_one_list()
    for index, container in enumerate(containers):
        here = f"{path}[{index}]"
        yield from _check_container(container, volumes, here)
        yield from names(container, here)
        yield from _CHECK_AROUND(container, here)
    yield from _check_host_ports(containers, path)


def check_init_containers(containers: list[Obj], regular: list[Obj], volumes: set[str], path: str) -> Iterator[Cause]:
    names = f.Unique("name", counts=bool).over_one_list(container.get("name", "") for container in regular)
    for index, container in enumerate(containers):
        here = f"{path}[{index}]"
        yield from _check_container(container, volumes, here)
        yield from _RESTART(container, here)
        yield from names(container, here)
        if container.get("restartPolicy") == "Always":
            yield from _CHECK_AROUND(container, here)
            continue
        for name in _AROUND:
            if container.get(name) is not None:
                yield forbidden(f"{here}.{name}", "may not be set for init containers without restartPolicy=Always")


def check_ephemeral_containers(containers: list[Obj], spec: Obj, volumes: set[str], path: str) -> Iterator[Cause]:
    others = [one.get("name", "") for kind in ("containers", "initContainers") for one in spec.get(kind) or ()]
    names = f.Unique("name").over_one_list(others)
    for index, container in enumerate(containers):
        here = f"{path}[{index}]"
        yield from _check_container(container, volumes, here)
        yield from names(container, here)
        if (target := container.get("targetContainerName")) and target not in others:
            yield not_found(f"{here}.targetContainerName", target)
        for name in (*_AROUND, "ports", "resources"):
            if container.get(name):
                yield forbidden(f"{here}.{name}", "cannot be set for an Ephemeral Container")


def _check_container(container: Obj, volumes: set[str], path: str) -> Iterator[Cause]:
    yield from _BEFORE_MOUNTS(container, path)
    for index, source in enumerate(container.get("envFrom") or ()):
        yield from check_env_from(source, f"{path}.envFrom", index)
    yield from _check_mounts(container.get("volumeMounts") or [], volumes, f"{path}.volumeMounts")
    yield from _AFTER_MOUNTS(container, path)


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
            yield from check_relative(mount.get(part) or "", f"{path}.{part}")


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
    wrong = key_errors(name)
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
        yield invalid(field, text, NEGATIVE)
    whole = name in _INTEGER_RESOURCES or name.startswith("count/") or ("/" in name and "kubernetes.io/" not in name)
    if whole and amount.milli_value() % 1000:
        yield invalid(field, text, "must be an integer")


# -- what runs around a container -----------------------------------------------------------------------------------


def _check_handler(handler: Obj, path: str) -> Iterator[Cause]:
    given = [name for name in _HANDLERS if handler.get(name) is not None]
    yield from f.check_union(handler, path, given, _HANDLERS, "handler type")


_HANDLERS = {
    "exec": f.Fields(command=f.Needed()),
    "httpGet": f.Fields(path=f.Needed(), port=check_port_number_or_name, scheme=f.OneOf("HTTP", "HTTPS")),
    "tcpSocket": f.Fields(port=check_port_number_or_name),
    "grpc": f.Fields(port=check_port),
    "sleep": f.Fields(),
}
_COUNTS = f.not_negative(
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"
)
_PROBE = f.Given(
    _check_handler,
    _COUNTS,
    f.Fields(
        terminationGracePeriodSeconds=f.ABOVE_0,
        successThreshold=f.Between(1, 1, "must be 1"),
    ),
)
_READINESS_PROBE = f.Given(
    _check_handler,
    _COUNTS,
    f.Fields(terminationGracePeriodSeconds=f.Between(0, -1, "must not be set for readinessProbes")),
)
_HANDLER = f.Given(_check_handler)
_CHECK_AROUND = f.Fields(
    lifecycle=f.Fields(postStart=_HANDLER, preStop=_HANDLER),
    livenessProbe=_PROBE,
    readinessProbe=_READINESS_PROBE,
    startupProbe=_PROBE,
)

# -- security contexts ----------------------------------------------------------------------------------------------

_MOST = 2147483647
_ID = f.Between(0, _MOST, f"must be between 0 and {_MOST}, inclusive")


def _check_profile(profile: Obj, path: str) -> Iterator[Cause]:
    local = profile.get("localhostProfile")
    if profile.get("type") == "Localhost":
        if not local:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
    elif local is not None:
        yield invalid(f"{path}.localhostProfile", local, "can only be set when seccomp type is Localhost")


_PROFILE = f.Given(
    _check_profile,
    f.Fields(
        type=f.Needed(
            f.OneOf("Localhost", "RuntimeDefault", "Unconfined"), detail="type is required when seccompProfile is set"
        )
    ),
)
_PROFILES = f.Fields(seccompProfile=_PROFILE, appArmorProfile=_PROFILE)


def _check_privilege(context: Obj, path: str) -> Iterator[Cause]:
    if context.get("allowPrivilegeEscalation") is False:
        denied = "cannot set `allowPrivilegeEscalation` to false and "
        if context.get("privileged"):
            yield invalid(path, context, f"{denied}`privileged` to true")
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield invalid(path, context, f"{denied}`capabilities.Add` CAP_SYS_ADMIN")


def check_pod_security(spec: Obj, path: str) -> Iterator[Cause]:
    """Check the security context in the spec of a pod."""
    context, path = spec.get("securityContext") or {}, f"{path}.securityContext"
    yield from _POD_IDS(context, path)
    if context and spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, text)
    yield from _POD_SECURITY(context, path)


_POD_IDS = f.Fields(fsGroup=_ID, runAsUser=_ID, runAsGroup=_ID, supplementalGroups=f.Each(_ID))
_POD_SECURITY = f.Every(
    f.Fields(
        sysctls=f.Each(f.Fields(name=f.Needed()), f.Unique("name", counts=bool)),
        fsGroupChangePolicy=f.Given(f.OneOf("OnRootMismatch", "Always")),
        seLinuxChangePolicy=f.Given(f.OneOf("Recursive")),
    ),
    _PROFILES,
    f.Fields(supplementalGroupsPolicy=f.Given(f.OneOf("Merge", "Strict"))),
)

# -- the table of a container ---------------------------------------------------------------------------------------


def _is_port_name(name: str) -> bool:
    return bool(name) and not port_name_errors(name)


_BEFORE_MOUNTS = f.Fields(
    name=f.Needed(f.DNS_LABEL),
    image=f.Needed(),
    terminationMessagePolicy=f.OneOf("File", "FallbackToLogsOnError"),
    ports=f.Each(
        f.Fields(name=f.Filled(f.PORT_NAME)),
        f.Unique("name", counts=_is_port_name),
        f.Fields(containerPort=f.Needed(check_port), hostPort=f.Filled(check_port), protocol=f.PROTOCOL),
    ),
    env=ENV,
)
_AFTER_MOUNTS = f.Fields(
    imagePullPolicy=f.OneOf("Always", "IfNotPresent", "Never"),
    resources=f.Filled(_check_resources),
    securityContext=f.Filled(
        f.Fields(
            runAsUser=_ID,
            runAsGroup=_ID,
            procMount=f.Given(f.OneOf("Default", "Unmasked")),
        ),
        _PROFILES,
        _check_privilege,
    ),
)
_RESTART = f.Fields(restartPolicy=f.Given(f.OneOf("Always")))
