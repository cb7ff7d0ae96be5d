"""What may not be in an object of each kind, and what of it never changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http
from tests.envtest.objects import AUTOSCALERS, NETWORKING, RBAC, STORAGE, named, refused, template

INGRESS_PATHS = [
    {"path": "x", "pathType": "Prefix", "backend": {"service": {"name": "s"}}},
    {"path": "/", "backend": {}},
]
BAD_POD = {
    "containers": [{"name": "c", "image": "i", "envFrom": [{}], "securityContext": {"runAsUser": -1}}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    "dnsPolicy": "None",
    "readinessGates": [{"conditionType": "no type"}],
    "topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "Never"}],
    "hostAliases": [{"ip": "nowhere"}],
}


VARIABLES = [
    {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.none"}}},
    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
    {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}},
    {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.none"}}},
    {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}},
    {"name": "F", "value": "f", "valueFrom": {"configMapKeyRef": {"name": "m"}}},
    {"name": "G", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['A']"}}},
    {"name": "H", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
]
VOLUMES = [
    {"name": "v", "downwardAPI": {"items": [{"path": "../up", "fieldRef": {"fieldPath": "status.podIP"}}]}},
    {"name": "w", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}},
]


BAD_REQUESTS: dict[str, Any] = {
    "requests": [
        {"name": "R"},
        {
            "name": "r",
            "exactly": {
                "selectors": [{}],
                "count": -1,
                "tolerations": [{"key": "k", "operator": "Exists", "value": "v"}],
            },
        },
        {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "c"}, {"name": "a", "deviceClassName": "c"}]},
    ],
    "constraints": [{"requests": ["r/a", "r/b"]}],
    "config": [{"opaque": {"driver": "d.x", "parameters": "none"}}],
}


@pytest.mark.parametrize(
    ("path", "body", "causes"),
    [
        (
            f"{NETWORKING}/namespaces/default/ingresses",
            {"spec": {"rules": [{"http": {"paths": INGRESS_PATHS}}]}},
            [
                ("spec.rules[0].http.paths[0].path", "Invalid"),
                ("spec.rules[0].http.paths[0].backend", "Required"),
                ("spec.rules[0].http.paths[1].pathType", "Required"),
            ],
        ),
        (f"{NETWORKING}/namespaces/default/ingresses", {"spec": {}}, [("spec", "Invalid")]),
        (
            f"{NETWORKING}/namespaces/default/networkpolicies",
            {"spec": {"policyTypes": ["X"], "ingress": [{"from": [{}], "ports": [{"port": 0}]}]}},
            [
                ("spec.ingress[0].ports[0].port", "Invalid"),
                ("spec.ingress[0].from[0]", "Required"),
                ("spec.policyTypes[0]", "NotSupported"),
            ],
        ),
        (
            f"/apis/autoscaling/v2/{AUTOSCALERS}",
            {
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "apiVersion": "v1"},
                    "minReplicas": 5,
                    "maxReplicas": 3,
                    "metrics": [{"type": "Resource"}],
                }
            },
            [
                ("spec.maxReplicas", "Invalid"),
                ("spec.scaleTargetRef.name", "Required"),
                ("spec.scaleTargetRef.apiVersion", "Invalid"),
                ("spec.metrics[0].resource", "Required"),
            ],
        ),
        (
            f"{RBAC}/namespaces/default/roles",
            {"rules": [{"verbs": ["get"]}, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
            [
                ("rules[0].apiGroups", "Required"),
                ("rules[0].resources", "Required"),
                ("rules[1].nonResourceURLs", "Invalid"),
            ],
        ),
        (
            f"{RBAC}/clusterrolebindings",
            {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "a"}]},
            [("roleRef.kind", "NotSupported"), ("subjects[0].namespace", "Required")],
        ),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1000000001}, [("value", "Forbidden")]),
        (
            f"{STORAGE}/storageclasses",
            {"reclaimPolicy": "Recycle", "volumeBindingMode": "Later"},
            [("provisioner", "Required"), ("reclaimPolicy", "NotSupported"), ("volumeBindingMode", "NotSupported")],
        ),
        (
            "/api/v1/namespaces/default/limitranges",
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, {"type": "Bogus"}]}},
            [("spec.limits[0].min[cpu]", "Invalid"), ("spec.limits[1].type", "Invalid")],
        ),
        (
            "/api/v1/persistentvolumes",
            {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["X"]}},
            [("spec.accessModes", "NotSupported"), ("spec", "Required")],
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            {
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": template(),
                    "updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
                }
            },
            [("spec.updateStrategy.rollingUpdate.maxSurge", "Invalid")],
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {
                "spec": {
                    "schedule": "TZ=UTC * * * * *",
                    "timeZone": "Local",
                    "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}},
                }
            },
            [("spec.schedule", "Invalid"), ("spec.timeZone", "Invalid")],
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {
                "spec": {
                    # The first is odd, but Kubernetes reads it: what follows a star and a hyphen does not count.
                    "schedule": "*-x 5-1 * * *",
                    "timeZone": "Europe/./Berlin",
                    "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}},
                }
            },
            [("spec.schedule", "Invalid"), ("spec.timeZone", "Invalid")],
        ),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": BAD_POD},
            [
                ("spec.containers[0].envFrom", "Invalid"),
                ("spec.containers[0].securityContext.runAsUser", "Invalid"),
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
                    "Required",
                ),
                ("spec.dnsConfig", "Required"),
                ("spec.readinessGates[0].conditionType", "Invalid"),
                ("spec.topologySpreadConstraints[0].maxSkew", "Invalid"),
                ("spec.topologySpreadConstraints[0].whenUnsatisfiable", "NotSupported"),
                ("spec.hostAliases[0].ip", "Invalid"),
            ],
        ),
        (
            "/api/v1/namespaces/default/pods",
            {"spec": {"containers": [{"name": "c", "image": "i", "env": VARIABLES}], "volumes": VOLUMES}},
            [
                ("spec.volumes[0].downwardAPI.path", "Invalid"),
                ("spec.volumes[0].downwardAPI.fieldRef.fieldPath", "NotSupported"),
                ("spec.volumes[1].projected.sources[0].serviceAccountToken.expirationSeconds", "Invalid"),
                ("spec.containers[0].env[0].valueFrom.fieldRef.fieldPath", "Invalid"),
                ("spec.containers[0].env[1].valueFrom.fieldRef.fieldPath", "NotSupported"),
                ("spec.containers[0].env[2].valueFrom.fieldRef", "Invalid"),
                ("spec.containers[0].env[3].valueFrom.resourceFieldRef.resource", "NotSupported"),
                ("spec.containers[0].env[4].valueFrom.resourceFieldRef.divisor", "Invalid"),
                ("spec.containers[0].env[5].valueFrom.configMapKeyRef.key", "Required"),
                ("spec.containers[0].env[5].valueFrom", "Invalid"),
            ],
        ),
        (
            "/api/v1/namespaces/default/secrets",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "none"}},
            [("data[.dockerconfigjson]", "Invalid")],
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", {}, [("handler", "Required")]),
        (
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            {"revision": -1},
            [("revision", "Invalid"), ("data", "Required")],
        ),
        (
            "/api/v1/nodes",
            {"spec": {"taints": [{"key": "a", "effect": "Never"}]}},
            [("metadata.taints[0].effect", "NotSupported")],
        ),
        (
            "/api/v1/namespaces/default/pods",
            {
                "spec": {
                    "resourceClaims": [{"name": ""}, {"name": "g"}],
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "resources": {"claims": [{"name": "g"}, {"name": "h"}, {"name": ""}]},
                        }
                    ],
                }
            },
            [
                ("spec.containers[0].resources.claims[1]", "NotFound"),
                ("spec.containers[0].resources.claims[2]", "Required"),
                ("spec.resourceClaims[0].name", "Required"),
            ],
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"spec": {"devices": BAD_REQUESTS}},
            [
                ("spec.devices.requests[0].name", "Invalid"),
                ("spec.devices.requests[0]", "Required"),
                ("spec.devices.requests[1].exactly.deviceClassName", "Required"),
                ("spec.devices.requests[1].exactly.selectors[0].cel", "Required"),
                ("spec.devices.requests[1].exactly.count", "Invalid"),
                ("spec.devices.requests[1].exactly.tolerations[0].value", "Invalid"),
                ("spec.devices.requests[2].firstAvailable[1]", "Duplicate"),
                ("spec.devices.requests[2]", "Duplicate"),
                ("spec.devices.constraints[0].requests[1]", "Invalid"),
                ("spec.devices.constraints[0]", "Required"),
                ("spec.devices.config[0].opaque.parameters", "Invalid"),
            ],
        ),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            {"spec": {"driver": "D.x-", "pool": {"name": "p"}, "devices": [{"name": "d", "taints": [{"key": "k"}]}]}},
            [
                ("spec.driver", "Invalid"),
                ("spec.pool.resourceSliceCount", "Invalid"),
                ("spec", "Required"),
                ("spec.devices[0].taints[0].effect", "Required"),
            ],
        ),
        (
            "/apis/networking.k8s.io/v1/ipaddresses",
            {"spec": {"parentRef": {"name": "s"}}},
            [("metadata.name", "Invalid"), ("spec.parentRef.resource", "Required")],
        ),
        ("/apis/networking.k8s.io/v1/servicecidrs", {"spec": {}}, [("spec.cidrs", "Required")]),
        (
            "/apis/networking.k8s.io/v1/servicecidrs",
            {"spec": {"cidrs": ["10.0.0.0/8", "10.9.0.0/16"]}},
            [("spec.cidrs", "Invalid")],
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            {"provisioner": "p", "allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": []}]}]},
            [("allowedTopologies[0].matchLabelExpressions[0].values", "Required")],
        ),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            {"spec": {"attacher": "::", "nodeName": "n", "source": {"persistentVolumeName": "P"}}},
            [("spec.attacher", "Invalid"), ("spec.source.persistentVolumeName", "Invalid")],
        ),
    ],
)
async def test_what_is_wrong_is_told_field_by_field(http: Http, path: str, body: Any, causes: Any) -> None:
    assert await refused(http, path, named("x", **body)) == causes


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}, "nfs": {"server": "s", "path": "/"}}


@pytest.mark.parametrize(
    ("path", "body", "change", "causes"),
    [
        (
            f"{RBAC}/clusterrolebindings",
            {"roleRef": {"kind": "ClusterRole", "name": "r"}},
            {"roleRef": {"name": "other"}},
            [("roleRef", "Invalid")],
        ),
        (f"{STORAGE}/storageclasses", {"provisioner": "p"}, {"provisioner": "q"}, [("provisioner", "Invalid")]),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}, {"value": 2}, [("value", "Forbidden")]),
        (
            "/api/v1/persistentvolumes",
            {"spec": VOLUME},
            {"spec": {"nfs": {"path": "/other"}}},
            [("spec.persistentvolumesource", "Forbidden")],
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            {"spec": CLAIM},
            {"spec": {"resources": {"requests": {"storage": "1Gi"}}}},
            [("spec", "Forbidden")],
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template()}},
            {"spec": {"selector": {"matchLabels": {"a": "c"}}}},
            [("spec.selector", "Invalid"), ("spec.template.metadata.labels", "Invalid")],
        ),
        (
            f"{NETWORKING}/ingressclasses",
            {"spec": {"controller": "a.com/c"}},
            {"spec": {"controller": "a.com/d"}},
            [("spec.controller", "Invalid")],
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "a"}, {"handler": "b"}, [("handler", "Invalid")]),
        (
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            {"revision": 1, "data": {"a": 1}},
            {"data": {"a": 2}},
            [("data", "Invalid")],
        ),
        (
            "/api/v1/nodes",
            {"spec": {"providerID": "a"}},
            {"spec": {"providerID": "b"}},
            [("spec.providerID", "Forbidden")],
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
            {"spec": {"devices": {"requests": [{"name": "R"}]}}},
            [("spec", "Invalid")],
        ),
        (
            f"{NETWORKING}/servicecidrs",
            {"spec": {"cidrs": ["10.0.0.0/8"]}},
            {"spec": {"cidrs": ["10.0.0.0/9", "10.1.0.0/16"]}},
            [("spec.cidrs[0]", "Invalid"), ("spec.cidrs", "Invalid")],
        ),
        (
            f"{STORAGE}/volumeattributesclasses",
            {"driverName": "d", "parameters": {"a": "b"}},
            {"parameters": {"a": "c"}},
            [("parameters", "Forbidden")],
        ),
        (
            f"{STORAGE}/csinodes",
            {"spec": {"drivers": [{"name": "D", "nodeID": "n"}]}},
            {"spec": {"drivers": [{"name": "D", "nodeID": "m"}]}},
            [("spec.drivers", "Invalid")],
        ),
    ],
)
async def test_what_never_changes_is_refused(http: Http, path: str, body: Any, change: Any, causes: Any) -> None:
    await http.create(path, named("x", **body))
    assert await refused(http, f"{path}/x", change, "PATCH") == causes


async def test_a_claim_is_bound_once(http: Http) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    await http.create(claims, named("c", spec=CLAIM))
    await http.merge(f"{claims}/c", {"spec": {"volumeName": "v"}})
    assert await refused(http, f"{claims}/c", {"spec": {"volumeName": "w"}}, "PATCH") == [("spec", "Forbidden")]


# -- versions ----------------------------------------------------------------------------------------------------------


async def test_a_token_secret_keeps_the_name_of_its_account(http: Http) -> None:
    name, path = "kubernetes.io/service-account.name", "/api/v1/namespaces/default/secrets"
    secret = {"metadata": {"name": "t", "annotations": {name: "a"}}, "type": "kubernetes.io/service-account-token"}
    await http.create(path, secret)

    code, refused = await http("PUT", f"{path}/t", {**secret, "metadata": {"name": "t"}})

    assert (code, refused["details"]["causes"][0]["field"]) == (422, f"metadata.annotations[{name}]")
