"""Services of pods made by hand: ports by name, families of addresses, nodes and zones, and Endpoints made by hand."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import node
from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch

__all__ = ("Served",)

_PODS, _NODES = ("p", "q", "r", "t", "u"), ("a", "b", "c")


class Served:
    looks = ("Endpoints", "EndpointSlice", "Event")
    controllers = ("endpointslicemirroring",)
    settle = 1.1
    settled = 2.5
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._last = 1

    def begin(self) -> list[Step]:
        nodes = [self._node(letter) for letter in _NODES]
        pods = [step for name in _PODS if self._draw.chance(0.5) for step in self._pod(name)]
        return [{"create": nodes}, *pods, {"create": self._service("s")}]

    def _node(self, letter: str) -> dict[str, Any]:
        made = node(letter)
        if self._draw.chance(0.7):
            made["metadata"]["labels"]["topology.kubernetes.io/zone"] = self._draw.one(["x", "y"])
        else:
            made["metadata"]["labels"].pop("topology.kubernetes.io/zone")
        return made

    def _labels(self) -> dict[str, str]:
        return {"app": self._draw.weighted([("w", 5), ("v", 2)]), "tier": self._draw.one(["1", "2"])}

    def _pod(self, name: str) -> list[Step]:
        draw = self._draw
        ports: list[dict[str, Any]] = [
            {"name": "http", "containerPort": draw.one([8080, 9090])},
            {"name": "dns", "containerPort": 53, "protocol": draw.one(["UDP", "TCP"])},
            {"name": "http", "containerPort": 7070, "protocol": "UDP"},
        ]
        containers: list[dict[str, Any]] = [{"name": "c", "image": "i", "ports": ports[: draw.number(0, 3)]}]
        spec: dict[str, Any] = {"containers": containers, "terminationGracePeriodSeconds": draw.one([0, 30])}
        if draw.chance(0.25):
            side = {"name": "s", "image": "i", "ports": [{"name": "side", "containerPort": 1010}]}
            spec["initContainers"] = [side | ({"restartPolicy": "Always"} if draw.chance(0.5) else {})]
        # A pod with an address and without a node makes Kubernetes' Endpoints invalid.
        spec["nodeName"] = f"${{ns}}-{draw.one(_NODES)}"
        if draw.chance(0.35):
            spec |= {"hostname": draw.one([name, "h"]), "subdomain": draw.one(["s", "other"])}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": self._labels()}, "spec": spec}
        return [{"create": pod}, *self._status(name)]

    def _status(self, name: str) -> list[Step]:
        draw = self._draw
        self._last += 1
        four, six = f"10.1.0.{self._last}", f"fd00:1::{self._last:x}"
        addresses = draw.weighted([([four], 4), ([four, six], 4), ([six], 1), ([six, four], 1), ([], 1)])
        ready = {"type": "Ready", "status": draw.weighted([("True", 4), ("False", 2)])}
        body: dict[str, Any] = {
            "phase": draw.weighted([("Running", 6), ("Pending", 1), ("Succeeded", 1), ("Failed", 1)]),
            "conditions": [ready] if draw.chance(0.9) else [],
        }
        if addresses:
            body |= {"podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]}
        return [patch("Pod", name, {"status": body}, subresource="status")]

    def _service(self, name: str) -> dict[str, Any]:
        draw = self._draw
        spec: dict[str, Any] = {"ports": self._ports()}
        if draw.chance(0.85):
            spec["selector"] = self._selector()
        spec["ipFamilyPolicy"] = draw.weighted([("SingleStack", 3), ("PreferDualStack", 3), ("RequireDualStack", 1)])
        if spec["ipFamilyPolicy"] == "SingleStack":
            spec["ipFamilies"] = [draw.weighted([("IPv4", 3), ("IPv6", 1)])]
        if draw.chance(0.4):
            spec["clusterIP"] = "None"
            if draw.chance(0.15):
                spec["ports"] = []
        elif draw.chance(0.2):
            spec["type"] = draw.one(["NodePort", "LoadBalancer"])
        if draw.chance(0.3):
            spec["publishNotReadyAddresses"] = True
        if draw.chance(0.3):
            spec["trafficDistribution"] = draw.one(["PreferClose", "PreferSameZone", "PreferSameNode"])
        if draw.chance(0.2):
            spec["internalTrafficPolicy"] = "Local"
        metadata: dict[str, Any] = {"name": name}
        if draw.chance(0.3):
            metadata["labels"] = draw.one(
                [{"x": "y"}, {"service.kubernetes.io/headless": ""}, {"endpointslice.kubernetes.io/managed-by": "me"}]
            )
        if draw.chance(0.15):
            metadata["annotations"] = {"note": "<&>"}
        return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

    def _selector(self) -> dict[str, str]:
        return self._draw.one([{"app": "w"}, {"app": "w", "tier": "1"}, {"tier": "2"}, {"app": "none"}])

    def _ports(self) -> list[dict[str, Any]]:
        http = {"name": "a", "port": 80, "targetPort": "http"}
        dns = {"name": "b", "port": 53, "targetPort": "dns", "protocol": "UDP"}
        side = {"name": "c", "port": 81, "targetPort": "side"}
        plain = {"name": "d", "port": 82, "targetPort": 8080, "appProtocol": "kubernetes.io/h2c"}
        return self._draw.one(
            [[{"port": 80}], [http], [http, dns], [dns, side], [plain, http], [http, dns, side, plain]]
        )

    def _endpoints(self, name: str) -> dict[str, Any]:
        draw = self._draw
        every = ["10.9.0.1", "10.9.0.2", "10.9.0.1", "fd00:9::1", "192.0.2.7"]
        subsets = []
        for _ in range(draw.number(0, 3)):
            of = {"ip": draw.one(every)}
            if draw.chance(0.3):
                of["hostname"] = "h"
            if draw.chance(0.3):
                of["nodeName"] = "${ns}-a"
            subset: dict[str, Any] = {draw.weighted([("addresses", 4), ("notReadyAddresses", 1)]): [of]}
            if draw.chance(0.4):
                subset.setdefault("addresses", []).append({"ip": draw.one(every)})
            if draw.chance(0.9):
                subset["ports"] = draw.one([[{"port": 80}], [{"name": "a", "port": 1}, {"name": "b", "port": 2}]])
            subsets.append(subset)
        metadata: dict[str, Any] = {"name": name}
        if draw.chance(0.4):
            metadata["labels"] = draw.one(
                [
                    {"x": "y"},
                    {"endpointslice.kubernetes.io/skip-mirror": "true"},
                    {"service.kubernetes.io/headless": ""},
                ]
            )
        if draw.chance(0.2):
            metadata["annotations"] = {"note": "<&>", "endpoints.kubernetes.io/last-change-trigger-time": "x"}
        return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}

    def run(self) -> Operation:
        name = self._draw.one(_PODS)
        return f"run {name}", self._pod(name)

    def report(self) -> Operation:
        name = self._draw.one(_PODS)
        return f"the status of {name}", self._status(name)

    def relabel(self) -> Operation:
        name, labels = self._draw.one(_PODS), self._labels()
        return f"label {name} {labels}", [patch("Pod", name, {"metadata": {"labels": labels}})]

    def end(self) -> Operation:
        name, options = self._draw.one(_PODS), self._draw.one([{}, {"gracePeriodSeconds": 0}])
        return f"delete {name} {options}", [{"delete": {"kind": "Pod", "name": name, "options": options}}]

    def serve(self) -> Operation:
        name = self._draw.one(["s", "t"])
        return f"make service {name}", [{"create": self._service(name)}]

    def change(self) -> Operation:
        name, spec = self._draw.one(["s", "s", "t"]), self._service("s")["spec"]
        keys = ["ports", "selector", "publishNotReadyAddresses", "trafficDistribution", "ipFamilyPolicy"]
        key = self._draw.one(keys)
        value = spec.get(key)
        body: dict[str, Any] = {key: value}
        if key == "selector":
            body = {"selector": {"app": None, "tier": None} | (value or {})}
        if value == "SingleStack":
            body["ipFamilies"] = None
        return f"service {name}: {body}", [patch("Service", name, {"spec": body})]

    def label_service(self) -> Operation:
        labels = self._draw.one([{"x": "z"}, {"x": None}, {"service.kubernetes.io/headless": None}])
        return f"label service s {labels}", [patch("Service", "s", {"metadata": {"labels": labels}})]

    def end_service(self) -> Operation:
        name = self._draw.one(["s", "t"])
        return f"delete service {name}", [delete("Service", name)]

    def write_endpoints(self) -> Operation:
        name = self._draw.one(["s", "t", "t"])
        made = self._endpoints(name)
        body = [{"op": "replace", "path": "/subsets", "value": made["subsets"]}]
        if self._draw.chance(0.5):
            return f"write endpoints {name}", [patch("Endpoints", name, body, "json")]
        return f"make endpoints {name}", [{"create": made}]

    def end_endpoints(self) -> Operation:
        name = self._draw.one(["s", "t"])
        return f"delete endpoints {name}", [delete("Endpoints", name)]

    def end_slice(self) -> Operation:
        which = {"kind": "EndpointSlice", "selector": "kubernetes.io/service-name=s"}
        return "delete the slices", [{"delete_each": which}]

    def move_node(self) -> Operation:
        letter = self._draw.one(_NODES)
        zone = self._draw.one(["x", "y", None])
        body = {"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}
        return f"node {letter} is in zone {zone}", [patch("Node", f"${{ns}}-{letter}", body)]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.run, 6),
            (self.report, 5),
            (self.relabel, 2),
            (self.end, 3),
            (self.serve, 2),
            (self.change, 6),
            (self.label_service, 1),
            (self.end_service, 1),
            (self.write_endpoints, 4),
            (self.end_endpoints, 1),
            (self.end_slice, 1),
            (self.move_node, 2),
        ]
