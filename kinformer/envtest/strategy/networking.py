"""Ingresses and network policies: their defaults and validation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    BAD_NETWORK,
    check_ingress_point,
    check_label_selector,
    check_names,
    check_port,
    check_port_number_or_name,
    forbidden,
    invalid,
    not_supported,
    parse_address,
    parse_network,
    port_name_errors,
    required,
    too_long,
)
from kinformer.envtest.strategy.metadata import path_segment
from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors, regex_error

__all__ = ("IngressClassStrategy", "IngressStrategy", "NetworkPolicyStrategy")

_PROTOCOLS = ("TCP", "UDP", "SCTP")


# -- network policies -------------------------------------------------------------------------------------------------


def _check_policy(spec: Obj) -> Iterator[Cause]:
    yield from check_label_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for place, port in enumerate(rule.get("ports") or ()):
                yield from _check_policy_port(port, f"{path}.ports[{place}]")
            for place, peer in enumerate(rule.get(side) or ()):
                yield from _check_peer(peer, f"{path}.{side}[{place}]")
    kinds = spec.get("policyTypes") or ()
    if len(kinds) > 2:
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            yield not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


class NetworkPolicyStrategy(Strategy):
    check_spec = staticmethod(_check_policy)

    def default(self, obj: Obj) -> None:
        super().default(obj)
        spec = obj["spec"]
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _check_policy_port(port: Obj, path: str) -> Iterator[Cause]:
    if (protocol := port.get("protocol")) not in (None, *_PROTOCOLS):
        yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS)
    number, end = port.get("port"), port.get("endPort")
    if isinstance(number, str):
        if end is not None:
            yield invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        yield from check_port_number_or_name(number, f"{path}.port")
    elif number is not None:
        yield from check_port(number, f"{path}.port")
        if end is not None:
            if end < number:
                yield invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
            yield from check_port(end, f"{path}.endPort")
    elif end is not None:
        yield invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")


def _check_peer(peer: Obj, path: str) -> Iterator[Cause]:
    for name in ("podSelector", "namespaceSelector"):
        yield from check_label_selector(peer.get(name), f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        yield from _check_block(block, f"{path}.ipBlock")
    if not peer:
        yield required(path, "must specify a peer")
    elif block is not None and len(peer) > 1:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _check_block(block: Obj, path: str) -> Iterator[Cause]:
    text = block.get("cidr", "")
    if not text:
        yield required(f"{path}.cidr")
        return
    network = parse_network(text)
    if network is None:
        yield invalid(f"{path}.cidr", text, BAD_NETWORK)
        return
    for index, out in enumerate(block.get("except") or ()):
        here = f"{path}.except[{index}]"
        inner = parse_network(out)
        if inner is None:
            yield invalid(here, out, BAD_NETWORK)
        elif inner == network or inner.version != network.version or not inner.subnet_of(network):  # type: ignore[arg-type]
            yield invalid(here, out, "must be a strict subset of `cidr`")


# -- ingresses --------------------------------------------------------------------------------------------------------

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_BAD_AT_END = ("/..", "/.")
_WILDCARD = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_is_wildcard = re.compile(_WILDCARD).fullmatch


class IngressStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        return list(_check_ingress(obj.get("spec") or {}, obj["metadata"]))

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        points, before = (
            [*((one.get("status") or {}).get("loadBalancer") or {}).get("ingress", ())] for one in (obj, old)
        )
        field = "status.loadBalancer.ingress"
        return [
            cause
            for index, point in enumerate(points)
            for cause in check_ingress_point(point, before, f"{field}[{index}]")
        ]

    def initial_status(self, obj: Obj) -> Obj:
        return {"loadBalancer": {}}


def _check_ingress(spec: Obj, metadata: Obj) -> Iterator[Cause]:
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        yield invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if (backend := spec.get("defaultBackend")) is not None:
        yield from _check_backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        yield from _check_rule(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for place, host in enumerate(tls.get("hosts") or ()):
            yield from _check_host(host, f"spec.tls[{index}].hosts[{place}]")
        if name := tls.get("secretName"):
            yield from check_names(name, f"spec.tls[{index}].secretName", dns1123_subdomain_errors)
    wanted = spec.get("ingressClassName")
    if wanted is not None:
        yield from check_names(wanted, "spec.ingressClassName", dns1123_subdomain_errors)
    said = (metadata.get("annotations") or {}).get(_CLASS_ANNOTATION)
    if said is not None and wanted is not None and said != wanted and not metadata.get("resourceVersion"):
        text = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS_ANNOTATION}", said, text)


def _check_host(host: str, field: str) -> Iterator[Cause]:
    if "*" not in host:
        yield from check_names(host, field, dns1123_subdomain_errors)
    elif not _is_wildcard(host):
        told = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
        )
        told += "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        yield invalid(field, host, regex_error(told, _WILDCARD, "*.example.com"))


def _check_rule(rule: Obj, path: str) -> Iterator[Cause]:
    if host := rule.get("host"):
        if parse_address(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from _check_host(host, f"{path}.host")
    http = rule.get("http")
    if http is None:
        return
    if not http.get("paths"):
        yield required(f"{path}.http.paths")
    for index, one in enumerate(http.get("paths") or ()):
        yield from _check_path(one, f"{path}.http.paths[{index}]")


def _check_path(one: Obj, path: str) -> Iterator[Cause]:
    kind, text = one.get("pathType"), one.get("path", "")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    elif kind != "ImplementationSpecific" or text:
        if not text.startswith("/"):
            yield invalid(f"{path}.path", text, "must be an absolute path")
        if kind != "ImplementationSpecific":
            for bad in _BAD_IN_PATH:
                if bad in text:
                    yield invalid(f"{path}.path", text, f"must not contain '{bad}'")
            for bad in _BAD_AT_END:
                if text.endswith(bad):
                    yield invalid(f"{path}.path", text, f"cannot end with '{bad}'")
    yield from _check_backend(one.get("backend") or {}, f"{path}.backend")


def _check_backend(backend: Obj, path: str) -> Iterator[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _check_reference(resource, f"{path}.resource")
    elif service is not None:
        if not service.get("name"):
            yield required(f"{path}.service.name")
        else:
            yield from check_names(service["name"], f"{path}.service.name")
        port = service.get("port") or {}
        name, number = port.get("name"), port.get("number")
        if name and number:
            yield invalid(path, "", "cannot set both port name & port number")
        elif name:
            for why in port_name_errors(name):
                yield invalid(f"{path}.service.port.name", name, why)
        elif number:
            yield from check_port(number, f"{path}.service.port.number")
        else:
            yield required(path, "port name or number is required")
    else:
        yield invalid(path, "", "resource or service backend is required")


def _check_reference(reference: Obj, path: str) -> Iterator[Cause]:
    """Check a reference to another object."""
    if (group := reference.get("apiGroup")) is not None:
        yield from check_names(group, f"{path}.apiGroup", dns1123_subdomain_errors)
    for name in ("kind", "name"):
        if not reference.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from check_names(reference[name], f"{path}.{name}", path_segment)


def _check_class(spec: Obj) -> Iterator[Cause]:
    controller = spec.get("controller", "")
    if len(controller) > 250:
        yield too_long("spec.controller", 250)
    domain, slash, rest = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not (slash and domain and rest):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid("spec.controller", controller, text)
    else:
        yield from check_names(domain, "spec.controller", dns1123_subdomain_errors)
    parameters = spec.get("parameters")
    if parameters is None:
        return
    path = "spec.parameters"
    yield from _check_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in ("Cluster", "Namespace"):
        yield not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif scope == "Cluster" and namespace is not None:
        yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace" and namespace is None:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace":
        yield from check_names(namespace, f"{path}.namespace", dns1123_label_errors)


class IngressClassStrategy(Strategy):
    check_spec = staticmethod(_check_class)

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        return [*self.validate_update(obj, old), *self.validate(obj)]
