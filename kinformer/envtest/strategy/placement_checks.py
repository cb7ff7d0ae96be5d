"""Validation of the parts of a pod's spec for scheduling, DNS, and the gates of readiness and scheduling."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.causes import duplicate, invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import check_address, check_operator, repeats
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = (
    "AFFINITY",
    "HOST_ALIASES",
    "NODE_SELECTOR",
    "READINESS_GATES",
    "SCHEDULING_GATES",
    "check_dns",
    "check_spread",
)

# -- affinity ---------------------------------------------------------------------------------------------------------


def _check_requirement(one: Obj, path: str) -> Iterator[Cause]:
    if one.get("operator") not in ("Gt", "Lt"):
        yield from check_operator(one, path)
    elif len(one.get("values") or ()) != 1:
        yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")


def _check_field(one: Obj, path: str) -> Iterator[Cause]:
    operator, values = one.get("operator", ""), one.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    if (key := one.get("key", "")) != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")


def _check_namespaces(term: Obj, path: str) -> Iterator[Cause]:
    # The real server reports these at a field that does not exist.
    for namespace in term.get("namespaces") or ():
        yield from f.DNS_LABEL(namespace, f"{path}.namespace")


def _affinity(hard: f.Check, **soft: f.Check) -> f.Fields:
    """
    Check an affinity.

    :param hard: the check of the terms that a node must meet
    :param soft: the checks of the terms that a node should meet. Each has a weight
    """
    weight = f.Between(1, 100, "must be in the range 1-100")
    return f.Fields(
        requiredDuringSchedulingIgnoredDuringExecution=hard,
        preferredDuringSchedulingIgnoredDuringExecution=f.Each(f.Fields(weight=weight, **soft)),
    )


_REQUIREMENT = (_check_requirement, f.Fields(key=f.QUALIFIED_NAME))
_STRICT_REQUIREMENT = (*_REQUIREMENT, f.Fields(values=f.Each(f.LABEL_VALUE)))
_NODE_FIELDS = f.Each(_check_field)
_PREFERRED_NODES = f.Fields(matchExpressions=f.Each(*_REQUIREMENT), matchFields=_NODE_FIELDS)
_REQUIRED_NODES = f.Fields(matchExpressions=f.Each(*_STRICT_REQUIREMENT), matchFields=_NODE_FIELDS)
_POD_TERM = f.Every(
    f.Fields(labelSelector=f.LABEL_SELECTOR, namespaceSelector=f.LABEL_SELECTOR),
    _check_namespaces,
    f.Fields(topologyKey=f.Every(f.Needed(detail="can not be empty"), f.QUALIFIED_NAME)),
)
_OF_PODS = _affinity(f.Each(_POD_TERM), podAffinityTerm=_POD_TERM)
NODE_SELECTOR = f.Fields(
    nodeSelectorTerms=f.Needed(f.Each(_REQUIRED_NODES), detail="must have at least one node selector term")
)
AFFINITY = f.Fields(
    nodeAffinity=_affinity(f.Given(NODE_SELECTOR), preference=_PREFERRED_NODES),
    podAffinity=_OF_PODS,
    podAntiAffinity=_OF_PODS,
)

# -- spread -----------------------------------------------------------------------------------------------------------


def check_spread(constraints: list[Obj] | None, path: str) -> Iterator[Cause]:
    """Check topology spread constraints."""
    pairs = [(one.get("topologyKey"), one.get("whenUnsatisfiable", "")) for one in constraints or ()]
    # Of equal constraints, all but the last are reported.
    alike = repeats(reversed(pairs))[::-1]
    for index, one in enumerate(constraints or ()):
        here = f"{path}[{index}]"
        yield from _SPREAD(one, here)
        if alike[index]:
            yield duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", "{{{}, {}}}".format(*pairs[index]))
        yield from _SPREAD_FURTHER(one, here)


def _check_domains(constraint: Obj, path: str) -> Iterator[Cause]:
    domains, otherwise = constraint.get("minDomains"), constraint.get("whenUnsatisfiable", "")
    if domains is not None and otherwise != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {otherwise}"
        yield invalid(f"{path}.minDomains", domains, text)


_NODE_POLICY = f.Given(f.OneOf("Ignore", "Honor"))
_SPREAD = f.Fields(
    maxSkew=f.POSITIVE,
    topologyKey=f.Needed(f.QUALIFIED_NAME, detail="can not be empty"),
    whenUnsatisfiable=f.OneOf("DoNotSchedule", "ScheduleAnyway"),
)
_SPREAD_FURTHER = f.Every(
    f.Fields(minDomains=f.POSITIVE),
    _check_domains,
    f.Fields(nodeAffinityPolicy=_NODE_POLICY, nodeTaintsPolicy=_NODE_POLICY, labelSelector=f.LABEL_SELECTOR),
)

# -- names and gates --------------------------------------------------------------------------------------------------


def check_dns(spec: Obj, path: str) -> Iterator[Cause]:
    """Check the DNS of a pod's spec."""
    config, path = spec.get("dnsConfig"), f"{path}.dnsConfig"
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None" and not servers:
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        else:
            yield required(f"{path}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
    elif config is not None:
        yield from _DNS(config, path)


# A label of a search path may begin with an underscore, as the labels of DNS services do.
_SEARCH = f.Form(lambda path: () if path == "." else dns1123_subdomain_errors(path.removesuffix(".").replace("_", "a")))
_DNS = f.Fields(
    nameservers=f.Given(f.AtMost(3, "nameservers"), f.Each(check_address)),
    searches=f.Given(f.AtMost(32, "search paths"), f.Each(_SEARCH)),
    options=f.Each(lambda option, path: () if option.get("name") else (required(path, "must not be empty"),)),
)
HOST_ALIASES = f.Each(f.Fields(ip=check_address, hostnames=f.Each(f.DNS_SUBDOMAIN)))
READINESS_GATES = f.Each(f.Fields(conditionType=f.QUALIFIED_NAME))

SCHEDULING_GATES = f.Each(lambda gate, path: f.QUALIFIED_NAME(gate.get("name"), path), f.Unique("name", at_item=True))
