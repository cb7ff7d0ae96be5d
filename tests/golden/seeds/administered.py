"""What administrators do: aggregated roles, accounts and their tokens, certificates of the server, policies."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch

__all__ = ("Administered",)

#: Which roles a role may collect: those of the level before. In a circle the order of writes decides what is collected.
_LEVELS = {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1, "f": 2}
_ROLES = tuple(f"${{ns}}-{letter}" for letter in _LEVELS)
_EXPRESSIONS = (
    "object.spec.replicas <= 5",
    "object.spec.replicaz <= 5",
    "object.metadata.name + 1 == 'a'",
    "has(object.spec.template.spec.containers[0].imagee)",
    "oldObject == null || oldObject.spec.replicas == 'x'",
    "object.spec.template.spec.containers.all(c, c.image.startsWith(1))",
    "request.operation == 2",
    "params.limit > 3",
    "variables.v > 3",
    "quantity('1') < object.metadata.generation",
    "authorizer.group('').resource('pods').check('get').allowed()",
    "namespaceObject.metadata.labelz.size() > 0",
)


class Administered:
    looks = ("ClusterRole", "ServiceAccount", "Secret", "ConfigMap", "ValidatingAdmissionPolicy", "Event")
    controllers = (
        "clusterrole-aggregation",
        "root-ca-cert-publisher",
        "serviceaccount-token",
        "validatingadmissionpolicy-status-controller",
    )
    settle = 1.5
    settled = 3.0
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        roles = [self._role(name) for name in _ROLES if self._draw.chance(0.5)]
        return [{"create": roles}, *self.make_account()[1]]

    def _labels(self, name: str) -> dict[str, str]:
        draw = self._draw
        labels = {"set": "${ns}", "level": str(_LEVELS[name[-1]])}
        labels |= {key: draw.one(["true", "x"]) for key in ("one", "two") if draw.chance(0.5)}
        return labels

    def _rules(self) -> list[dict[str, Any]]:
        draw = self._draw
        return [
            {
                "apiGroups": [draw.one(["", "apps"])],
                "resources": [draw.one(["pods", "secrets", "deployments", "pods/log"])],
                "verbs": draw.one([["get"], ["get", "list"], ["list", "get"], ["*"]]),
                **({"resourceNames": ["n"]} if draw.chance(0.2) else {}),
            }
            for _ in range(draw.number(0, 3))
        ]

    def _role(self, name: str) -> dict[str, Any]:
        made: dict[str, Any] = {"metadata": {"name": name, "labels": self._labels(name)}, "rules": self._rules()}
        if _LEVELS[name[-1]]:
            made["aggregationRule"] = {"clusterRoleSelectors": self._selectors(name)}
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", **made}

    def _selectors(self, name: str) -> list[dict[str, Any]]:
        draw = self._draw
        every: list[dict[str, Any]] = [
            {"matchLabels": {"one": "true"}},
            {"matchLabels": {"two": "x"}},
            {"matchExpressions": [{"key": "one", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "two", "operator": "DoesNotExist"}]},
        ]
        chosen = [draw.one(every) for _ in range(draw.number(1, 3))]
        of = {"set": "${ns}", "level": str(_LEVELS[name[-1]] - 1)}
        return [{**each, "matchLabels": of | each.get("matchLabels", {})} for each in chosen]

    def make_role(self) -> Operation:
        made = self._role(self._draw.one(_ROLES))
        return f"make role {made['metadata']['name'][-1]}", [{"create": made}]

    def change_role(self) -> Operation:
        name, draw = self._draw.one(_ROLES), self._draw
        body: dict[str, Any] = draw.one(
            [
                {"rules": self._rules()},
                {"metadata": {"labels": {"one": draw.one(["true", "x", None])}}},
                *(
                    [{"aggregationRule": draw.one([None, {"clusterRoleSelectors": self._selectors(name)}])}]
                    if _LEVELS[name[-1]]
                    else []
                ),
            ]
        )
        return f"change role {name[-1]}: {sorted(body)}", [patch("ClusterRole", name, body)]

    def delete_role(self) -> Operation:
        name = self._draw.one(_ROLES)
        return f"delete role {name[-1]}", [delete("ClusterRole", name)]

    def make_account(self) -> Operation:
        name = self._draw.one("ab")
        account: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        if self._draw.chance(0.3):
            account["secrets"] = [{"name": "t"}, {"name": "u"}]
        return f"make account {name}", [{"make": {"object": account, "owners": []}}, {"settle": self.settle}]

    def make_token(self) -> Operation:
        name, account = self._draw.one("tu"), self._draw.one(["a", "b", "nobody", "default"])
        annotations = {"kubernetes.io/service-account.name": account}
        if self._draw.chance(0.15):
            annotations["kubernetes.io/service-account.uid"] = "11111111-1111-4111-8111-111111111111"
        secret: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "annotations": annotations},
            "type": self._draw.weighted([("kubernetes.io/service-account-token", 6), ("Opaque", 1)]),
        }
        if self._draw.chance(0.3):
            secret["data"] = self._draw.one(
                [{"ca.crt": "eA=="}, {"namespace": "eA=="}, {"token": "eA=="}, {"x": "eA=="}]
            )
        return f"make token {name} of {account}", [{"create": secret}, {"settle": self.settle}]

    def change_token(self) -> Operation:
        name, draw = self._draw.one("tu"), self._draw
        annotation = {"kubernetes.io/service-account.name": draw.one(["a", "b"])}
        body: dict[str, Any] = draw.one(
            [
                {"metadata": {"annotations": annotation}},
                {"data": {"token": None}},
                {"data": {"ca.crt": None}},
                {"data": {"namespace": "eA=="}},
                {"data": {"ca.crt": "eA=="}},
            ]
        )
        return f"change token {name}: {body}", [patch("Secret", name, body)]

    def delete_one(self) -> Operation:
        kind, name = self._draw.one(
            [
                *(("ServiceAccount", "a"), ("ServiceAccount", "b"), ("ServiceAccount", "default")),
                *(("Secret", "t"), ("Secret", "u"), ("ConfigMap", "kube-root-ca.crt")),
            ]
        )
        return f"delete {kind} {name}", [delete(kind, name), {"settle": self.settle}]

    def change_ca(self) -> Operation:
        body = {"data": self._draw.one([{"ca.crt": "x"}, {"ca.crt": None}, {"other": "y"}])}
        return f"change kube-root-ca.crt: {body}", [patch("ConfigMap", "kube-root-ca.crt", body)]

    def rule(self) -> Operation:
        draw = self._draw
        spec: dict[str, Any] = {
            "failurePolicy": "Ignore",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [draw.one(["apps", "batch", ""])],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": draw.one([["deployments"], ["pods"], ["deployments", "replicasets"], ["*"]]),
                    }
                ]
            },
            "validations": [{"expression": draw.one(_EXPRESSIONS)} for _ in range(draw.number(1, 3))],
        }
        if draw.chance(0.3):
            spec["variables"] = [{"name": "v", "expression": draw.one(_EXPRESSIONS[:2])}]
        if draw.chance(0.3):
            spec["validations"][0]["messageExpression"] = draw.one(["'a' + 1", "string(object.spec.replicaz)"])
        metadata: dict[str, Any] = {"name": f"${{ns}}-{draw.one('pq')}", "labels": {"set": "${ns}"}}
        version = "admissionregistration.k8s.io/v1"
        made: dict[str, Any] = {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": spec,
        }
        if draw.chance(0.4):
            return "change a policy", [patch(made["kind"], metadata["name"], {"spec": spec})]
        return "make a policy", [{"create": made}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.make_role, 4),
            (self.change_role, 6),
            (self.delete_role, 1),
            (self.make_account, 3),
            (self.make_token, 5),
            (self.change_token, 3),
            (self.delete_one, 4),
            (self.change_ca, 1),
            (self.rule, 3),
        ]
