"""The cells of tables that are more than a value of an object: texts made from several values.

Each function here reads one cell of an object at the time of a request, or makes such a function. They are named in
``columns.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from kinformer.envtest.handlers.spans import NONE, since
from kinformer.envtest.strategy.checks import ingress_points
from kinformer.meta.jsonpath import find
from kinformer.meta.owners import get_controller_of
from kinformer.meta.selectors import label_selector_as_selector

__all__ = ("Reader",)  # columns.yaml names the others

Obj = dict[str, Any]
#: Reads a cell of an object. The second argument is the time of the request.
Reader = Callable[[Obj, datetime], Any]


def age(obj: Obj, now: datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def at(path: str, otherwise: Any = "") -> Reader:
    return lambda obj, now: next((one for one in find(obj, path) if one is not None), otherwise)


# -- what several kinds show ------------------------------------------------------------------------------------------


def pairs(path: str) -> Reader:
    read = at(path, {})
    return lambda obj, now: ",".join(f"{key}={value}" for key, value in sorted(read(obj, now).items())) or NONE


def selector(path: str) -> Reader:
    read = at(path, None)

    def shown(obj: Obj, now: datetime) -> str:
        try:
            return str(label_selector_as_selector(read(obj, now))) or NONE
        except ValueError:
            return "<error>"

    return shown


def _some(items: Iterable[str], most: int = 3, between: str = ",", otherwise: str = NONE) -> str:
    """The first few of many items, and the number of the others."""
    listed = list(items)
    if not listed:
        return otherwise
    text = between.join(listed[:most])
    return text if len(listed) <= most else f"{text} + {len(listed) - most} more..."


def some(path: str, otherwise: str) -> Reader:
    """The first few values at a path."""
    return lambda obj, now: _some(filter(None, find(obj, path)), otherwise=otherwise)


def ago(*paths: str) -> Reader:
    """The time since the first one that is at one of the paths. The last argument is the text without such a time."""
    *places, otherwise = paths
    readers = [at(path, None) for path in places]

    def read(obj: Obj, now: datetime) -> str:
        return next((since(found, now) for reader in readers if (found := reader(obj, now))), otherwise)

    return read


def address(obj: Obj, now: datetime) -> str:
    """The addresses of the load balancer."""
    return ",".join(sorted({one.get("ip") or one.get("hostname") or "" for one in ingress_points(obj)} - {""}))


def named(*annotations: str) -> Reader:
    """The name, with a note if the object is the default one of its kind."""

    def name(obj: Obj, now: datetime) -> str:
        present = obj["metadata"].get("annotations") or {}
        is_default = any(present.get(name) == "true" for name in annotations)
        return f"{obj['metadata']['name']}{' (default)' if is_default else ''}"

    return name


# -- core -------------------------------------------------------------------------------------------------------------


def external(obj: Obj, now: datetime) -> str:
    spec = obj["spec"]
    outside = list(spec.get("externalIPs") or ())
    kind = spec.get("type")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        balanced = address(obj, now)
        return ",".join([one for one in (balanced, *outside) if one]) or "<pending>"
    return ",".join(outside) or NONE


def service_ports(obj: Obj, now: datetime) -> str:
    shown = []
    for port in obj["spec"].get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node}/{port.get('protocol', '')}")
    return ",".join(shown) or NONE


def node_status(obj: Obj, now: datetime) -> str:
    conditions = {one.get("type"): one.get("status") for one in (obj.get("status") or {}).get("conditions") or ()}
    words = ["Unknown"] if "Ready" not in conditions else ["Ready" if conditions["Ready"] == "True" else "NotReady"]
    return ",".join([*words, "SchedulingDisabled"] if obj["spec"].get("unschedulable") else words)


def roles(obj: Obj, now: datetime) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.partition("/")[2] for key in labels if key.startswith("node-role.kubernetes.io/")}
    return ",".join(sorted({*roles, labels.get("kubernetes.io/role", "")} - {""})) or NONE


def node_info(name: str) -> Reader:
    def read(obj: Obj, now: datetime) -> str:
        info = (obj.get("status") or {}).get("nodeInfo") or {}
        text = info.get(name) or "<unknown>"
        if name == "kernelVersion" and info.get("architecture"):
            text += f" ({info['architecture']})"
        return str(text)

    return read


def endpoints(obj: Obj, now: datetime) -> str:
    shown = []
    for subset in obj.get("subsets") or ():
        addresses = [one.get("ip", "") for one in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        shown += addresses if not ports else []
        for port in ports:
            shown += [f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in addresses]
    return _some(shown) if obj.get("subsets") else NONE


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def modes(path: str) -> Reader:
    read = at(path, ())
    return lambda obj, now: ",".join(short for mode, short in _MODES.items() if mode in read(obj, now))


def phase(obj: Obj, now: datetime) -> str:
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return str((obj.get("status") or {}).get("phase", ""))


def quota(of: str) -> Reader:
    def read(obj: Obj, now: datetime) -> str:
        status = obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        names = [name for name in sorted(hard) if name.startswith("limits.") == (of == "limits")]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


def message(obj: Obj, now: datetime) -> str:
    return str(obj.get("message", "")).strip()


def event_about(obj: Obj, now: datetime) -> str:
    about = obj.get("involvedObject") or {}
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def event_source(obj: Obj, now: datetime) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def event_count(obj: Obj, now: datetime) -> int:
    series = obj.get("series")
    return int(series.get("count", 0) if series else obj.get("count") or 1)


# -- other groups -----------------------------------------------------------------------------------------------------


def job_status(obj: Obj, now: datetime) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    for kind in ("Complete", "Failed"):
        if kind in true:
            return kind
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return next((kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if kind in true), "Running")


def completions(obj: Obj, now: datetime) -> str:
    done, spec = (obj.get("status") or {}).get("succeeded", 0), obj["spec"]
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallel = spec.get("parallelism", 0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def job_duration(obj: Obj, now: datetime) -> str:
    status = obj.get("status") or {}
    if not status.get("startTime"):
        return ""
    if not status.get("completionTime"):
        return since(status["startTime"], now)
    return since(status["startTime"], datetime.fromisoformat(status["completionTime"].replace("Z", "+00:00")))


def metrics(obj: Obj, now: datetime) -> str:
    current = (obj.get("status") or {}).get("currentMetrics") or []
    shown = []
    for index, metric in enumerate(obj["spec"].get("metrics") or ()):
        kind = next((name for name in metric if name != "type"), "")
        source = metric.get(kind) or {}
        target = source.get("target") or {}
        now_at = ((current[index].get(kind) or {}).get("current") or {}) if index < len(current) else {}
        of_resource = kind in ("resource", "containerResource")
        if of_resource and target.get("averageValue") is None:
            have, want = now_at.get("averageUtilization"), target.get("averageUtilization")
            cell = f"{'<unknown>' if have is None else f'{have}%'}/{'<auto>' if want is None else f'{want}%'}"
        elif target.get("averageValue") is not None:
            cell = f"{now_at.get('averageValue', '<unknown>')}/{target['averageValue']}"
            cell += "" if of_resource or kind == "pods" else " (avg)"
        else:
            cell = f"{now_at.get('value', '<unknown>')}/{target.get('value', '')}"
        shown.append(f"{source.get('name', '')}: {cell}" if of_resource else cell)
    return _some(shown, 2, ", ")


def slice_ports(obj: Obj, now: datetime) -> str:
    ports = obj.get("ports") or ()
    numbers = [str(one["port"]) if one.get("port") is not None else one.get("name", "*") for one in ports]
    return _some(numbers, otherwise="<unset>")


def web_ports(obj: Obj, now: datetime) -> str:
    return "80, 443" if obj["spec"].get("tls") else "80"


def parameters(obj: Obj, now: datetime) -> str:
    reference = (obj.get("spec") or {}).get("parameters")
    if not reference:
        return NONE
    group = reference.get("apiGroup")
    return f"{reference.get('kind', '')}{'' if group is None else f'.{group}'}/{reference.get('name', '')}"


def subjects(kind: str) -> Reader:
    def read(obj: Obj, now: datetime) -> str:
        found = [one for one in obj.get("subjects") or () if one.get("kind") == kind]
        names = [one.get("name", "") for one in found]
        if kind == "ServiceAccount":
            names = [f"{one.get('namespace', '')}/{name}" for one, name in zip(found, names, strict=True)]
        return ", ".join(names)

    return read


def controller(obj: Obj, now: datetime) -> str:
    owner = get_controller_of(obj)
    return NONE if owner is None else f"{str(owner.group_kind).lower()}/{owner.name}"


def signed(obj: Obj, now: datetime) -> str:
    status = obj.get("status") or {}
    kinds = {one.get("type") for one in status.get("conditions") or ()}
    words = [kind for kind in ("Approved", "Denied", "Failed") if kind in kinds] or ["Pending"]
    return ",".join([*words, "Issued"] if status.get("certificate") else words)


def claim_state(obj: Obj, now: datetime) -> str:
    status, is_ending = obj.get("status") or {}, "deletionTimestamp" in obj["metadata"]
    words = ["deleted"] if is_ending else []
    if not status.get("allocation"):
        return ",".join(words or ["pending"])
    return ",".join([*words, "allocated", *(["reserved"] if status.get("reservedFor") else [])])


def length(path: str) -> Reader:
    read = at(path, ())
    return lambda obj, now: len(read(obj, now))


def data(obj: Obj, now: datetime) -> int:
    return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
