"""Validation of a pod's spec, and of its changes."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    check_labels,
    check_names,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kinformer.envtest.strategy.container_checks import check_containers, check_init_containers, check_pod_security
from kinformer.envtest.strategy.metadata import validate_annotations, validate_labels
from kinformer.envtest.strategy.placement_checks import (
    check_affinity,
    check_dns,
    check_gates,
    check_host_aliases,
    check_spread,
)
from kinformer.envtest.strategy.pod_dump import spec_difference
from kinformer.envtest.strategy.source_checks import check_volume_source
from kinformer.meta.validation import dns1123_subdomain_errors, label_key_errors, label_value_errors

__all__ = ("check_pod_spec", "check_pod_update", "check_template", "check_tolerations")

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_template(template: Obj, path: str) -> Iterator[Cause]:
    """Check a pod template."""
    metadata = template.get("metadata") or {}
    yield from validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    yield from validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")
    yield from check_pod_spec(template.get("spec") or {}, f"{path}.spec")


def check_pod_spec(spec: Obj, path: str, of_pod: bool = False) -> Iterator[Cause]:
    """
    Check the spec of a pod or of a pod template.

    :param of_pod: whether it is the spec of a pod
    """
    volumes: set[str] = set()
    if listed := spec.get("volumes"):
        yield from _check_volumes(listed, volumes, f"{path}.volumes")
    containers = spec.get("containers") or []
    yield from check_containers(containers, volumes, f"{path}.containers")
    if init := spec.get("initContainers"):
        yield from check_init_containers(init, containers, volumes, f"{path}.initContainers")
    if spec.get("hostNetwork"):
        yield from _check_host_network(containers, f"{path}.containers", of_pod)
    if (policy := spec.get("restartPolicy")) not in _RESTART:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART)
    if (policy := spec.get("dnsPolicy")) not in _DNS:
        yield not_supported(f"{path}.dnsPolicy", policy, _DNS)
    if selector := spec.get("nodeSelector"):
        yield from check_labels(selector, f"{path}.nodeSelector")
    yield from _check_surroundings(spec, path)
    yield from _check_subdomains(spec, path, "serviceAccountName", "nodeName")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2147483647:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            yield from check_names(value, f"{path}.{name}")
    if tolerations := spec.get("tolerations"):
        yield from check_tolerations(tolerations, f"{path}.tolerations")
    if aliases := spec.get("hostAliases"):
        yield from check_host_aliases(aliases, f"{path}.hostAliases")
    yield from _check_subdomains(spec, path, "priorityClassName", "runtimeClassName")
    if (policy := spec.get("preemptionPolicy")) not in (None, "PreemptLowerPriority", "Never"):
        yield not_supported(f"{path}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def _check_subdomains(spec: Obj, path: str, *names: str) -> Iterator[Cause]:
    for name in names:
        if value := spec.get(name):
            yield from check_names(value, f"{path}.{name}", dns1123_subdomain_errors)


def _check_surroundings(spec: Obj, path: str) -> Iterator[Cause]:
    if security := spec.get("securityContext"):
        yield from check_pod_security(spec, security, f"{path}.securityContext")
    if affinity := spec.get("affinity"):
        yield from check_affinity(affinity, f"{path}.affinity")
    yield from check_dns(spec.get("dnsConfig"), spec.get("dnsPolicy"), f"{path}.dnsConfig")
    yield from check_gates(spec, path)
    if constraints := spec.get("topologySpreadConstraints"):
        yield from check_spread(constraints, f"{path}.topologySpreadConstraints")


def _check_volumes(volumes: list[Obj], names: set[str], path: str) -> Iterator[Cause]:
    for index, volume in enumerate(volumes):
        here = f"{path}[{index}]"
        name = volume.get("name", "")
        causes = list(check_volume_source(volume, here))
        if not name:
            causes.append(required(f"{here}.name"))
        else:
            causes += check_names(name, f"{here}.name")
        if name in names:
            causes.append(duplicate(f"{here}.name", name))
        if not causes:
            names.add(name)
        yield from causes


def _check_host_network(containers: list[Obj], path: str, of_pod: bool) -> Iterator[Cause]:
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports") or ()):
            # A template may leave the host port out. It is set when a pod is made from the template.
            host_port = port.get("hostPort", 0)
            if (of_pod or host_port) and host_port != port.get("containerPort"):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}[{index}].ports[{place}].hostPort", host_port, text)


def check_tolerations(tolerations: list[Obj], path: str) -> Iterator[Cause]:
    for index, one in enumerate(tolerations):
        here = f"{path}[{index}]"
        key, operator = one.get("key", ""), one.get("operator", "")
        value, effect = one.get("value", ""), one.get("effect", "")
        if key:
            for why in label_key_errors(key):
                yield invalid(f"{here}.key", key, why)
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{here}.operator", operator, text)
        if one.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(f"{here}.effect", effect, text)
        if operator in ("Equal", ""):
            if wrong := label_value_errors(value):
                yield invalid(f"{here}.operator", value, ";".join(wrong))
        elif operator == "Exists":
            if value:
                yield invalid(f"{here}.operator", value, "value must be empty when `operator` is 'Exists'")
        else:
            yield not_supported(f"{here}.operator", operator, ("Equal", "Exists"))
        if effect and effect not in _EFFECTS:
            yield not_supported(f"{here}.effect", effect, _EFFECTS)


# -- changes --------------------------------------------------------------------------------------------------------


def check_pod_update(spec: Obj, old: Obj) -> Iterator[Cause]:
    """Check that only those fields of a pod's spec change that may: images, the deadline, and new tolerations."""
    if spec == old:
        return
    for name in ("containers", "initContainers"):
        mine, before = spec.get(name) or [], old.get(name) or []
        if len(mine) != len(before):
            yield forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(mine):
            image = container.get("image", "")
            if image.strip() != image:
                text = "must not have leading or trailing whitespace"
                yield invalid(f"spec.{name}[{index}].image", image, text)
    stopped = yield from _check_deadline(spec, old)
    if stopped:
        return
    yield from _check_added_tolerations(spec.get("tolerations") or [], old.get("tolerations") or [])
    before_gates = old.get("schedulingGates") or []
    for gate in spec.get("schedulingGates") or ():
        if gate not in before_gates:
            text = "only deletion is allowed, but found new scheduling gate"
            yield forbidden("spec.schedulingGates", f"{text} '{gate.get('name', '')}'")
            break
    munged = _without_updatable(spec, old)
    if munged != old:
        difference = spec_difference(old, munged)
        yield forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n{difference}")


def _check_deadline(spec: Obj, old: Obj) -> Generator[Cause, None, bool]:
    """:return: whether the other changes need no check"""
    deadline, before = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    field = "spec.activeDeadlineSeconds"
    if deadline is None:
        if before is not None:
            yield invalid(field, None, "must not update from a positive integer to nil value")
        return False
    if not 0 <= deadline <= 2147483647:
        yield invalid(field, deadline, "must be between 0 and 2147483647, inclusive")
        return True
    if before is not None and before < deadline:
        yield invalid(field, deadline, "must be less than or equal to previous value")
        return True
    return False


def _check_added_tolerations(tolerations: list[Obj], old: list[Obj]) -> Iterator[Cause]:
    def timeless(one: Obj) -> Obj:
        return {key: value for key, value in one.items() if key != "tolerationSeconds"}

    present = [timeless(one) for one in tolerations]
    if any(timeless(one) not in present for one in old):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _without_updatable(spec: Obj, old: Obj) -> Obj:
    """The new spec, with the old values of all fields that may change."""
    munged = {**spec}
    for name in ("containers", "initContainers"):
        if spec.get(name):
            pairs = zip(spec[name], old[name], strict=True)
            munged[name] = [{**mine, "image": before.get("image")} for mine, before in pairs]
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        munged.pop(name, None)
        if name in old:
            munged[name] = old[name]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if old.get("schedulingGates") and set((old.get("nodeSelector") or {}).items()) <= set(
        (spec.get("nodeSelector") or {}).items()
    ):
        munged.pop("nodeSelector", None)
        if "nodeSelector" in old:
            munged["nodeSelector"] = old["nodeSelector"]
    return munged
