"""What fuzzing starts from: objects that are right, values that often are wrong, and names of fields."""

from __future__ import annotations

from typing import Any, Final

__all__ = ("FIXED", "VALUES", "WORDS")

_LABELS = {"a": "b"}
_SELECTOR = {"matchLabels": _LABELS, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
_CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "i",
    "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": "x"}],
    "ports": [{"containerPort": 80, "name": "http"}],
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}},
    "volumeMounts": [{"name": "v", "mountPath": "/a"}],
    "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
    "securityContext": {"runAsUser": 1},
}
_POD: dict[str, Any] = {
    "containers": [_CONTAINER],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _SELECTOR}
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
            }
        }
    },
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": _POD}
_META = {
    "name": "a",
    "labels": _LABELS,
    "annotations": {"c": "d"},
    "finalizers": ["x.io/y"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u", "controller": True}],
}
_RULES = [{"operations": ["CREATE"], "apiGroups": ["zzz"], "apiVersions": ["v1"], "resources": ["pods"]}]
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["a"],
            "x-kubernetes-validations": [{"rule": "self.a != 'x' || has(self.replicas)", "messageExpression": "'m'"}],
            "properties": {
                "a": {"type": "string", "pattern": "^[a-z]*$", "maxLength": 9, "default": "a", "format": "hostname"},
                "when": {"type": "string", "format": "date-time"},
                "long": {"type": "string", "format": "duration"},
                "replicas": {"type": "integer", "minimum": 0, "multipleOf": 1},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
                },
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "map": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
                "one": {"type": "object", "oneOf": [{"required": ["x"]}], "properties": {"x": {"type": "number"}}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "embedded": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        },
        "status": {"type": "object", "nullable": True, "properties": {"replicas": {"type": "integer"}}},
    },
}
_DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "ts.ex.io"},
    "spec": {
        "group": "ex.io",
        "scope": "Namespaced",
        "names": {"plural": "ts", "kind": "T", "singular": "t", "shortNames": ["q"], "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": ".spec.list[?(@.k=='x')].k"}],
                "selectableFields": [{"jsonPath": ".spec.a"}],
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {"openAPIV3Schema": _SCHEMA},
            }
        ],
    },
}
_CUSTOM: dict[str, Any] = {
    "apiVersion": "ex.io/v1",
    "kind": "T",
    "metadata": {"name": "t"},
    "spec": {
        "a": "a",
        "when": "2020-01-01T00:00:00Z",
        "long": "1h",
        "replicas": 1,
        "list": [{"k": "x"}],
        "set": ["a"],
        "map": {"a": 1, "b": "2"},
        "one": {"x": 1.5},
        "any": {"x": {"y": [1]}},
        "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "e"}},
    },
}
_HERE = "namespaces/default"


def _workload(**more: Any) -> dict[str, Any]:
    return {"metadata": _META, "spec": {"selector": _SELECTOR, "template": _TEMPLATE, **more}}


#: Where to create them, and objects that are right: the first requests to a server, in this order.
FIXED: Final[list[tuple[str, dict[str, Any]]]] = [
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION),
    (f"/apis/ex.io/v1/{_HERE}/ts", _CUSTOM),
    (f"/api/v1/{_HERE}/pods", {"metadata": _META, "spec": _POD}),
    (f"/api/v1/{_HERE}/configmaps", {"metadata": _META, "data": {"k": "v"}, "binaryData": {"b": "YQ=="}}),
    (f"/api/v1/{_HERE}/secrets", {"metadata": _META, "data": {"k": "YQ=="}, "stringData": {"s": "x"}, "type": "x/y"}),
    (
        f"/api/v1/{_HERE}/services",
        {"metadata": _META, "spec": {"selector": _LABELS, "ports": [{"name": "p", "port": 80, "targetPort": "http"}]}},
    ),
    (f"/api/v1/{_HERE}/replicationcontrollers", {"metadata": _META, "spec": {"replicas": 1, "template": _TEMPLATE}}),
    (f"/api/v1/{_HERE}/resourcequotas", {"metadata": _META, "spec": {"hard": {"pods": "10", "limits.cpu": "1e3"}}}),
    (
        f"/api/v1/{_HERE}/limitranges",
        {
            "metadata": _META,
            "spec": {"limits": [{"type": "Container", "max": {"cpu": "99"}, "maxLimitRequestRatio": {"cpu": "9"}}]},
        },
    ),
    (f"/apis/apps/v1/{_HERE}/deployments", _workload(replicas=1, strategy={"rollingUpdate": {"maxSurge": "25%"}})),
    (f"/apis/apps/v1/{_HERE}/statefulsets", _workload(serviceName="s")),
    (f"/apis/apps/v1/{_HERE}/daemonsets", _workload()),
    (
        f"/apis/batch/v1/{_HERE}/jobs",
        {"metadata": _META, "spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}, "completions": 2}},
    ),
    (
        f"/apis/batch/v1/{_HERE}/cronjobs",
        {
            "metadata": _META,
            "spec": {
                "schedule": "*/5 1-3 * * 1,2",
                "timeZone": "Etc/UTC",
                "jobTemplate": {"spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}},
            },
        },
    ),
    (
        f"/apis/policy/v1/{_HERE}/poddisruptionbudgets",
        {"metadata": _META, "spec": {"minAvailable": "50%", "selector": _SELECTOR}},
    ),
    (
        f"/apis/networking.k8s.io/v1/{_HERE}/ingresses",
        {
            "metadata": _META,
            "spec": {
                "rules": [
                    {
                        "host": "*.example.com",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "a", "port": {"number": 80}}},
                                }
                            ]
                        },
                    }
                ]
            },
        },
    ),
    ("/api/v1/namespaces", {"metadata": {"name": "n"}}),
    ("/api/v1/nodes", {"metadata": {"name": "a"}, "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}),
    (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        {
            "metadata": {"name": "a"},
            "webhooks": [
                {
                    "name": "a.b.c",
                    "clientConfig": {"service": {"name": "s", "namespace": "n"}},
                    "rules": _RULES,
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "matchConditions": [{"name": "m", "expression": "true"}],
                }
            ],
        },
    ),
    (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        {
            "metadata": {"name": "a"},
            "spec": {
                "matchConstraints": {"resourceRules": _RULES},
                "variables": [{"name": "v", "expression": "object.spec"}],
                "validations": [{"expression": "variables.v.x == 1", "messageExpression": "'a'"}],
            },
        },
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {"metadata": {"name": "a"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
    ),
    (
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}},
    ),
    ("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}),
]

#: What fields do not expect, or what is at the edge of what they take.
VALUES: Final[list[Any]] = [
    *(None, True, False, 0, -1, 1, 1.5, 1e308, 2**31, 2**53, 2**63 - 1, -(2**63), 2**63, 2**64),
    *("", "x", "a", "X_Y", "a/b", "a.b", "\x00", "\r\n", "\u202e", "\ud7ff", "\U0001f642", "a" * 300, "a" * 5_000),
    *([], [None], [[]], {}, {"": ""}, {"a": None}, ["x"], ["x", "x"], [1], {"x": {}}, [{}], [{"name": "a"}] * 2),
    *("2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0000-00-00T99:99:99Z", "2020-01-01"),
    *("1Gi", "-1", "1e300", "1e999999999", "0.000000000001n", "9" * 400, "9" * 4_400, "1" * 30 + "Ei", "00010"),
    *("10.0.0.1", "::1", "10.0.0.0/8", "300.1.1.1/99", "1.0.0.0.0", "fe80::1%eth0", "0x7f.1"),
    *(
        "50%",
        "-50%",
        "100000000000%",
        "9" * 4_400 + "%",
        "%",
        "* * * * *",
        "@every 1s",
        "TZ=x * * * * *",
        "*/0 * * * *",
    ),
    *(
        "http://[",
        "https://a:b/c",
        "https://127.0.0.1:1",
        "self.x == 1",
        "(",
        ".a[",
        "{.x",
        "^(a+)+$",
        "a{1001}",
        "(?=a)",
    ),
    *("\\d{1,99999999999}", "[" * 200, "(" * 300, "!" * 500 + "true", "[[:x:]]", ".spec[999999999999999999999]"),
    *("Always", "Never", "Foreground", "Exists", "In", "TCP", "ClusterIP", "ExternalName", "None", "v1", "apps/v1/x"),
    *("f:metadata", ".", "k:{}", "v:1", "i:0", {"f:spec": {"f:a": {}}}, {"f:x": 1}, {'k:{"a":1}': {}}),
]

#: Names of fields, some with a meaning of their own to patches.
WORDS: Final[list[str]] = [
    *("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers", "uid", "resourceVersion", "kind"),
    *(
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
        "selfLink",
    ),
    *(
        "metadata",
        "spec",
        "status",
        "data",
        "rules",
        "items",
        "apiVersion",
        "type",
        "generateName",
        "template",
        "replicas",
    ),
    *("containers", "volumes", "ports", "selector", "env", "resources", "limits", "conditions", "schema", "properties"),
    *("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers", "$ref", "x.y/z"),
    *("", "a", "\r\n", "\x00", "9" * 4_400, "\U0001f642", "a" * 300, "default", "pattern", "format", "not", "anyOf"),
    *("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "additionalProperties"),
]
