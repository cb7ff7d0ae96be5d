"""Validation of a pod's spec, and of its changes."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

from kinformer.envtest.causes import duplicate, forbidden, invalid, not_found, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import container_checks as of_containers
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, with_field, with_fields
from kinformer.envtest.strategy.metadata import validate_annotations, validate_labels
from kinformer.envtest.strategy.placement_checks import (
    AFFINITY,
    HOST_ALIASES,
    READINESS_GATES,
    SCHEDULING_GATES,
    check_dns,
    check_spread,
)
from kinformer.envtest.strategy.pod_dump import spec_difference
from kinformer.envtest.strategy.source_checks import check_volume_source

__all__ = ("PREEMPTION", "TAINT_EFFECT", "TOLERATIONS", "check_pod_spec", "check_pod_update", "check_template")

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_template(template: Obj | None, path: str) -> Iterator[Cause]:
    """Check a pod template."""
    template = template or {}
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
    yield from _check_volumes(spec.get("volumes") or (), volumes, f"{path}.volumes")
    containers = spec.get("containers") or []
    yield from of_containers.check_containers(containers, volumes, f"{path}.containers")
    yield from of_containers.check_init_containers(
        spec.get("initContainers") or [], containers, volumes, f"{path}.initContainers"
    )
    if ephemeral := spec.get("ephemeralContainers"):
        yield from of_containers.check_ephemeral_containers(ephemeral, spec, volumes, f"{path}.ephemeralContainers")
    yield from _check_claims(spec, path)
    if spec.get("hostNetwork"):
        yield from _check_host_network(containers, f"{path}.containers", of_pod)
    yield from _POD_SPEC(spec, path)


def _check_claims(spec: Obj, path: str) -> Iterator[Cause]:
    """Check that containers use only devices of the pod's claims."""
    names = sorted(one["name"] for one in spec.get("resourceClaims") or () if one.get("name"))
    which = f": {', '.join(names)}" if names else " which is empty"
    for kind in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(kind) or ()):
            for index, claim in enumerate((container.get("resources") or {}).get("claims") or ()):
                here = f"{path}.{kind}[{number}].resources.claims[{index}]"
                if not (name := claim.get("name")):
                    yield required(here)
                elif name not in names:
                    told = f"must be one of the names in pod.spec.resourceClaims{which}"
                    yield not_found(here, name)._replace(message=f'Not found: "{name}": {told}')


def _check_volumes(volumes: Iterable[Obj], names: set[str], path: str) -> Iterator[Cause]:
    for index, volume in enumerate(volumes):
        here = f"{path}[{index}]"
        name = volume.get("name", "")
        causes = [*check_volume_source(volume, here), *_NAME(volume, here)]
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


def _check_toleration(one: Obj, path: str) -> Iterator[Cause]:
    operator, value, effect = one.get("operator", ""), one.get("value", ""), one.get("effect", "")
    if not one.get("key") and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, text)
    if one.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, text)
    if operator in ("Equal", ""):
        yield from f.LABEL_VALUE_AT_ONCE(value, f"{path}.operator")
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))


_NAME = f.Fields(name=f.Needed(f.DNS_LABEL))
_SUBDOMAIN = f.Filled(f.DNS_SUBDOMAIN)
PREEMPTION = f.OneOf("PreemptLowerPriority", "Never")
TAINT_EFFECT = f.OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")
TOLERATIONS = f.Each(
    f.Fields(key=f.Filled(f.QUALIFIED_NAME)),
    _check_toleration,
    f.Fields(effect=f.Filled(TAINT_EFFECT)),
)
_POD_SPEC = f.Every(
    f.Fields(
        resourceClaims=f.Each(f.Fields(name=f.Needed(f.DNS_LABEL)), f.Unique("name")),
        restartPolicy=f.OneOf("Always", "OnFailure", "Never"),
        dnsPolicy=f.OneOf("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
        nodeSelector=f.Given(validate_labels),
    ),
    of_containers.check_pod_security,
    f.Fields(affinity=AFFINITY),
    check_dns,
    f.Fields(
        readinessGates=READINESS_GATES,
        schedulingGates=SCHEDULING_GATES,
        topologySpreadConstraints=check_spread,
        serviceAccountName=_SUBDOMAIN,
        nodeName=_SUBDOMAIN,
        activeDeadlineSeconds=f.Between(1, 2147483647, "must be between 1 and 2147483647, inclusive"),
        hostname=f.Filled(f.DNS_LABEL),
        subdomain=f.Filled(f.DNS_LABEL),
        tolerations=TOLERATIONS,
        hostAliases=HOST_ALIASES,
        priorityClassName=_SUBDOMAIN,
        runtimeClassName=_SUBDOMAIN,
        preemptionPolicy=f.Given(PREEMPTION),
    ),
)

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
    munged = with_fields(spec, old, "activeDeadlineSeconds", "tolerations", "schedulingGates")
    for name in ("containers", "initContainers"):
        if spec.get(name):
            pairs = zip(spec[name], old[name], strict=True)
            munged[name] = [{**mine, "image": before.get("image")} for mine, before in pairs]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if old.get("schedulingGates") and set((old.get("nodeSelector") or {}).items()) <= set(
        (spec.get("nodeSelector") or {}).items()
    ):
        with_field(munged, "nodeSelector", old.get("nodeSelector"))
    return munged
