"""Validation of the parts of a pod's spec for scheduling, DNS, and the gates of readiness and scheduling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    BAD_ADDRESS,
    check_label_selector,
    check_names,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    parse_address,
    repeats,
    required,
)
from kinformer.meta.validation import (
    dns1123_label_errors,
    dns1123_subdomain_errors,
    label_key_errors,
    label_value_errors,
)

__all__ = ("check_affinity", "check_dns", "check_gates", "check_host_aliases", "check_node_selector", "check_spread")

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_WEIGHT = "must be in the range 1-100"
_MOST_NAMESERVERS = 3
_MOST_SEARCHES = 32


def check_affinity(affinity: Obj, path: str) -> Iterator[Cause]:
    if (of_nodes := affinity.get("nodeAffinity")) is not None:
        here = f"{path}.nodeAffinity"
        if (wanted := of_nodes.get(_REQUIRED)) is not None:
            yield from check_node_selector(wanted, f"{here}.{_REQUIRED}")
        for index, one in enumerate(of_nodes.get(_PREFERRED) or ()):
            yield from _check_weight(one, f"{here}.{_PREFERRED}[{index}]")
            yield from _check_term(one.get("preference") or {}, f"{here}.{_PREFERRED}[{index}].preference", False)
    for kind in ("podAffinity", "podAntiAffinity"):
        of_pods = affinity.get(kind) or {}
        for index, one in enumerate(of_pods.get(_REQUIRED) or ()):
            yield from _check_pod_term(one, f"{path}.{kind}.{_REQUIRED}[{index}]")
        for index, one in enumerate(of_pods.get(_PREFERRED) or ()):
            here = f"{path}.{kind}.{_PREFERRED}[{index}]"
            yield from _check_weight(one, here)
            yield from _check_pod_term(one.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")


def _check_weight(one: Obj, path: str) -> Iterator[Cause]:
    if not 1 <= (weight := one.get("weight", 0)) <= 100:
        yield invalid(f"{path}.weight", weight, _WEIGHT)


def check_node_selector(selector: Obj, path: str) -> Iterator[Cause]:
    """Check a node selector. A node must match one of its terms."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _check_term(term, f"{path}.nodeSelectorTerms[{index}]", True)


def _check_term(term: Obj, path: str, strict: bool) -> Iterator[Cause]:
    for index, one in enumerate(term.get("matchExpressions") or ()):
        yield from _check_requirement(one, f"{path}.matchExpressions[{index}]", strict)
    for index, one in enumerate(term.get("matchFields") or ()):
        yield from _check_field(one, f"{path}.matchFields[{index}]")


def _check_requirement(one: Obj, path: str, strict: bool) -> Iterator[Cause]:
    operator, values, key = one.get("operator", ""), one.get("values") or (), one.get("key", "")
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from check_names(key, f"{path}.key", label_key_errors)
    for index, value in enumerate(values if strict else ()):
        yield from check_names(value, f"{path}.values[{index}]", label_value_errors)


def _check_field(one: Obj, path: str) -> Iterator[Cause]:
    operator, values = one.get("operator", ""), one.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    if (key := one.get("key", "")) != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")


def _check_pod_term(term: Obj, path: str) -> Iterator[Cause]:
    yield from check_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from check_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        yield from check_names(namespace, f"{path}.namespace", dns1123_label_errors)
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from check_names(key, f"{path}.topologyKey", label_key_errors)


def check_spread(constraints: list[Obj], path: str) -> Iterator[Cause]:
    """Check topology spread constraints."""
    pairs = [(one.get("topologyKey"), one.get("whenUnsatisfiable", "")) for one in constraints]
    # Of equal constraints, all but the last are reported.
    alike = repeats(reversed(pairs))[::-1]
    for index, one in enumerate(constraints):
        here = f"{path}[{index}]"
        if (skew := one.get("maxSkew", 0)) <= 0:
            yield invalid(f"{here}.maxSkew", skew, "must be greater than zero")
        if not one.get("topologyKey"):
            yield required(f"{here}.topologyKey", "can not be empty")
        else:
            yield from check_names(one["topologyKey"], f"{here}.topologyKey", label_key_errors)
        unsatisfiable = one.get("whenUnsatisfiable", "")
        if unsatisfiable not in _UNSATISFIABLE:
            yield not_supported(f"{here}.whenUnsatisfiable", unsatisfiable, _UNSATISFIABLE)
        if alike[index]:
            yield duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{pairs[index][0]}, {unsatisfiable}}}")
        if (domains := one.get("minDomains")) is not None:
            if domains <= 0:
                yield invalid(f"{here}.minDomains", domains, "must be greater than zero")
            if unsatisfiable != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {unsatisfiable}"
                yield invalid(f"{here}.minDomains", domains, text)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if (policy := one.get(name)) not in (None, "Ignore", "Honor"):
                yield not_supported(f"{here}.{name}", policy, ("Ignore", "Honor"))
        yield from check_label_selector(one.get("labelSelector"), f"{here}.labelSelector")


def check_dns(config: Obj | None, policy: Any, path: str) -> Iterator[Cause]:
    servers = (config or {}).get("nameservers") or []
    if policy == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            yield required(f"{path}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    if config is None:
        return
    if len(servers) > _MOST_NAMESERVERS:
        yield invalid(f"{path}.nameservers", servers, f"must not have more than {_MOST_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from _check_address(server, f"{path}.nameservers[{index}]")
    searches = config.get("searches") or []
    if len(searches) > _MOST_SEARCHES:
        yield invalid(f"{path}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    for index, search in enumerate(searches):
        if search != ".":
            # A label of a search path may begin with an underscore, as the labels of DNS services do.
            plain = search.removesuffix(".").replace("_", "a")
            for why in dns1123_subdomain_errors(plain):
                yield invalid(f"{path}.searches[{index}]", search, why)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def check_host_aliases(aliases: list[Obj], path: str) -> Iterator[Cause]:
    for index, alias in enumerate(aliases):
        yield from _check_address(alias.get("ip", ""), f"{path}[{index}].ip")
        for place, name in enumerate(alias.get("hostnames") or ()):
            yield from check_names(name, f"{path}[{index}].hostnames[{place}]", dns1123_subdomain_errors)


def _check_address(text: str, field: str) -> Iterator[Cause]:
    if parse_address(text) is None:
        yield invalid(field, text, BAD_ADDRESS)


def check_gates(spec: Obj, path: str) -> Iterator[Cause]:
    """Check the readiness gates and the scheduling gates."""
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        here = f"{path}.readinessGates[{index}].conditionType"
        yield from check_names(gate.get("conditionType", ""), here, label_key_errors)
    names: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name = gate.get("name", "")
        yield from check_names(name, f"{path}.schedulingGates[{index}]", label_key_errors)
        if name in names:
            yield duplicate(f"{path}.schedulingGates[{index}]", name)
        names.add(name)
