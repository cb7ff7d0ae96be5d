"""Ingresses and network policies: their defaults and validation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from kinformer.envtest.causes import forbidden, immutable, invalid, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    BAD_NETWORK,
    check_domain_path,
    check_ingress_point,
    check_no_address,
    check_port,
    check_port_number_or_name,
    ingress_points,
    parse_network,
)
from kinformer.meta.validation import regex_error

__all__ = ("ADDRESS", "CLASS", "POLICY", "IngressStrategy", "RangesStrategy")

# -- network policies -------------------------------------------------------------------------------------------------


def _check_policy_port(port: Obj, path: str) -> Iterator[Cause]:
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


def _check_one_peer(peer: Obj, path: str) -> Iterator[Cause]:
    if not peer:
        yield required(path, "must specify a peer")
    elif peer.get("ipBlock") is not None and len(peer) > 1:
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


def _check_kinds(kinds: list[str], path: str) -> Iterator[Cause]:
    if len(kinds) > 2:
        yield invalid(path, kinds, "may not specify more than two policyTypes")
    else:
        yield from f.Each(f.OneOf("Ingress", "Egress"))(kinds, path)


_PORTS = f.Each(f.Fields(protocol=f.Given(f.OneOf("TCP", "UDP", "SCTP"))), _check_policy_port)
_PEERS = f.Each(
    f.Fields(podSelector=f.LABEL_SELECTOR, namespaceSelector=f.LABEL_SELECTOR, ipBlock=f.Given(_check_block)),
    _check_one_peer,
)
POLICY = f.Fields(
    podSelector=f.LABEL_SELECTOR,
    ingress=f.Each(f.Fields(ports=_PORTS, **{"from": _PEERS})),
    egress=f.Each(f.Fields(ports=_PORTS, to=_PEERS)),
    policyTypes=f.Given(_check_kinds),
)


# -- ingresses --------------------------------------------------------------------------------------------------------

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_BAD_AT_END = ("/..", "/.")
_WILDCARD = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_is_wildcard = re.compile(_WILDCARD).fullmatch


def _check_host(host: str, field: str) -> Iterator[Cause]:
    if "*" not in host:
        yield from f.DNS_SUBDOMAIN(host, field)
    elif not _is_wildcard(host):
        told = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
        )
        told += "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        yield invalid(field, host, regex_error(told, _WILDCARD, "*.example.com"))


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
    yield from _check_backend(one.get("backend"), f"{path}.backend")


def _check_backend(backend: Obj | None, path: str) -> Iterator[Cause]:
    service, resource = (backend or {}).get("service"), (backend or {}).get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _REFERENCE(resource, f"{path}.resource")
    elif service is not None:
        yield from _SERVICE(service, f"{path}.service")
        port = service.get("port") or {}
        name, number = port.get("name"), port.get("number")
        if name and number:
            yield invalid(path, "", "cannot set both port name & port number")
        elif name or number:
            yield from _BACKEND_PORT(port, f"{path}.service.port")
        else:
            yield required(path, "port name or number is required")
    else:
        yield invalid(path, "", "resource or service backend is required")


_SERVICE = f.Fields(name=f.Needed(f.DNS_LABEL))
_BACKEND_PORT = f.Fields(name=f.Filled(f.PORT_NAME), number=f.Filled(check_port))
_REFERENCE = f.Fields(apiGroup=f.Given(f.DNS_SUBDOMAIN), kind=f.Needed(f.PATH_SEGMENT), name=f.Needed(f.PATH_SEGMENT))


def _check_some_backend(spec: Obj | None, path: str) -> Iterator[Cause]:
    if not spec or (not spec.get("rules") and spec.get("defaultBackend") is None):
        yield invalid(path, None, "either `defaultBackend` or `rules` must be specified")


def _check_same_class(ingress: Obj, _path: str) -> Iterator[Cause]:
    metadata, wanted = ingress["metadata"], (ingress.get("spec") or {}).get("ingressClassName")
    said = (metadata.get("annotations") or {}).get(_CLASS_ANNOTATION)
    if said is not None and wanted is not None and said != wanted and not metadata.get("resourceVersion"):
        text = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS_ANNOTATION}", said, text)


_RULE = f.Fields(
    host=f.Filled(check_no_address, _check_host),
    http=f.Given(f.Fields(paths=f.Needed(f.Each(_check_path)))),
)
_INGRESS = f.Every(
    _check_some_backend,
    f.Fields(
        defaultBackend=f.Given(_check_backend),
        rules=f.Each(_RULE),
        tls=f.Each(f.Fields(hosts=f.Each(_check_host), secretName=f.Filled(f.DNS_SUBDOMAIN))),
        ingressClassName=f.Given(f.DNS_SUBDOMAIN),
    ),
)


class IngressStrategy(Strategy):
    checks = f.Every(f.Fields(spec=_INGRESS), _check_same_class)

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        check = partial(check_ingress_point, old=ingress_points(old))
        return [
            *f.Each(lambda point, path: check(point, field=path))(ingress_points(obj), "status.loadBalancer.ingress")
        ]


# -- classes ----------------------------------------------------------------------------------------------------------


def _check_scope(parameters: Obj, path: str) -> Iterator[Cause]:
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope == "Cluster" and namespace is not None:
        yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace":
        row = f.Present(f.DNS_LABEL, detail="`parameters.scope` is set to 'Namespace'")
        yield from row(namespace, f"{path}.namespace")


CLASS = f.Fields(
    controller=f.Needed(partial(check_domain_path, most=250)),
    parameters=f.Given(_REFERENCE, f.Fields(scope=f.OneOf("Cluster", "Namespace")), _check_scope),
)


# -- addresses of services --------------------------------------------------------------------------------------------

_SEGMENT = f.Needed(f.PATH_SEGMENT)
_PARENT = f.Fields(
    group=f.Filled(f.DNS_SUBDOMAIN), resource=_SEGMENT, name=_SEGMENT, namespace=f.Filled(f.PATH_SEGMENT)
)
ADDRESS = f.Fields(parentRef=f.Present(_PARENT))


def _check_ranges(ranges: list[str] | None, path: str) -> Iterator[Cause]:
    if not ranges:
        yield required(path, "at least one CIDR required")
    elif len(ranges) > 2:
        yield invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values")
    else:
        networks = list(map(parse_network, ranges))
        for index, network in enumerate(networks):
            if network is None:
                yield invalid(f"{path}[{index}]", ranges[index], BAD_NETWORK)
        if len(ranges) == 2 and len({network and network.version for network in networks}) == 1 and networks[0]:
            text = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            yield invalid(path, ranges, text)


class RangesStrategy(Strategy):
    """ServiceCIDRs. A second range may be added, of the other family."""

    checks = f.Fields(spec=f.Fields(cidrs=_check_ranges))

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        path, now, before = "spec.cidrs", _ranges(obj), _ranges(old)
        if len(now) != len(before) and (len(before), len(now)) != (1, 2):
            return list(immutable(now or None, before, path))
        pairs = enumerate(zip(now, before, strict=False))
        causes = [cause for i, (new, was) in pairs for cause in immutable(new, was, f"{path}[{i}]")]
        return causes + (self.validate(obj) if len(now) > len(before) else [])


def _ranges(obj: Obj) -> list[str]:
    return (obj.get("spec") or {}).get("cidrs") or []
