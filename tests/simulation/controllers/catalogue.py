"""What each controller is tried with in a simulated world: the steps of users, and the controllers that run.

Where a golden scenario is small, its steps are used: these cases are in ``from_golden.py``. The others are here. Every
controller is in one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kinformer.simulation.faults import Faults
from kinformer.simulation.world import World
from tests.golden.controllers import SCENARIOS
from tests.golden.scenario import Scenario
from tests.simulation.controllers import csi, gated, groups, selinux, storage
from tests.simulation.controllers.case import CRASHED_AND_LATE, SETTLE, Case, Step
from tests.simulation.controllers.from_golden import GOLDEN
from tests.simulation.controllers.jobs import CRON_JOBS, JOBS
from tests.simulation.controllers.writes import create, delete, patch, patch_status

__all__ = ("CASES",)


def _case(
    name: str,
    controllers: str,
    *steps: Step,
    may_differ: Sequence[str] = (),
    plans: Sequence[str] = (),
    share: int = 1,
    churn_left_out: Sequence[str] = (),
    quiet: float = 30.0,
    begin: Callable[[World], object] = lambda world: None,
    faults: Faults | None = None,
    **options: Any,
) -> Case:
    names = controllers.split()
    return Case(
        name, names, steps, options, may_differ, plans, share, quiet, churn_left_out, begin=begin, faults=faults
    )


_RBAC = "rbac.authorization.k8s.io/v1"
_TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "img"}]}}
_JOB = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
_CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "growing",
    "resources": {"requests": {"storage": "1Gi"}},
}
_VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "growing",
    "hostPath": {"path": "/x"},
    "persistentVolumeReclaimPolicy": "Retain",
}


_NETWORKING = "networking.k8s.io/v1"
_OF_A_SERVICE = {
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    "ipaddress.kubernetes.io/ip-family": "IPv4",
}
_SCRATCH = {
    "containers": [{"name": "c", "image": "i"}],
    "volumes": [
        {
            "name": "scratch",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                }
            },
        }
    ],
}
_DEVICES = "resource.k8s.io/v1"
_DEVICE_CLAIM = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
_DEVICE = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "dev-1"}
_SLICE_POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
_SLICE = {
    "driver": "d.example.com",
    "nodeName": "n",
    "pool": _SLICE_POOL,
    "devices": [{"name": "dev-1"}],
}

_GROUP = "scheduling.k8s.io"
_SCHEDULING = f"{_GROUP}/v1alpha2"
_BASIC = {"schedulingPolicy": {"basic": {}}}
_IN_GROUP = {"containers": [{"name": "c", "image": "i"}], "schedulingGroup": {"podGroupName": "g"}}


_SERVERS = {"namespace": "kube-system", "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}}
_BUNDLE = {"signerName": "kubernetes.io/kube-apiserver-serving", "trustBundle": "x"}
_REQUEST = {
    "signerName": "example.com/abc",
    "podName": "p",
    "podUID": "p-uid",
    "serviceAccountName": "a",
    "serviceAccountUID": "a-uid",
    "nodeName": "n",
    "nodeUID": "n-uid",
    "pkixPublicKey": "AA==",
    "proofOfPossession": "AA==",
}
_CERTIFICATES = "certificates.k8s.io/v1beta1"
_MIGRATION = "storagemigration.k8s.io/v1beta1"
_WIDGETS = {"group": "example.com", "resource": "widgets"}


def _api_server(name: str) -> Step:
    return create("Lease", name, "coordination.k8s.io/v1", metadata=_SERVERS, spec={"holderIdentity": name})


def _stored_by(resource: str, *servers: str) -> Step:
    """What API servers say of the version in which they store a resource: an even one and an odd one differ."""
    entries = [
        {"apiServerID": one, "encodingVersion": f"v{ord(one) % 2}", "decodableVersions": ["v0", "v1"]}
        for one in servers
    ]
    return patch_status("StorageVersion", resource, storageVersions=entries)


def _widgets(stored: str) -> dict[str, Any]:
    """The definition of a resource with two versions."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": one, "served": True, "storage": one == stored, "schema": schema} for one in ("v1", "v2")]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {"group": "example.com", "names": names, "scope": "Cluster", "versions": versions}


def _pod_with_device(name: str, **spec: Any) -> Step:
    """A pod on a node whose devices are those of the claim ``shared``."""
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "d"}]}}
    claims = [{"name": "d", "resourceClaimName": "shared"}]
    return create("Pod", name, spec={"containers": [container], "resourceClaims": claims, "nodeName": "n", **spec})


def _allocated_claim() -> tuple[Step, ...]:
    """The claim ``shared``, as the scheduler leaves it."""
    finalizer = {"finalizers": ["resource.kubernetes.io/delete-protection"]}
    allocation = {"devices": {"results": [_DEVICE]}}
    return (
        create("ResourceClaim", "shared", _DEVICES, metadata=finalizer, spec=_DEVICE_CLAIM),
        patch_status("ResourceClaim", "shared", allocation=allocation),
    )


def _policy(expression: str) -> dict[str, Any]:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
    return {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}


def _rule(verb: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}


def _subset(*ips: str) -> list[dict[str, Any]]:
    return [{"addresses": [{"ip": ip} for ip in ips], "ports": [{"port": 80}]}]


def _labelled(name: str, level: str) -> Step:
    """A pod that mounts the volume ``shared`` with a label."""
    mount = {"name": "shared", "mountPath": "/shared"}
    spec = {
        "containers": [{"name": "c", "image": "i", "volumeMounts": [mount]}],
        "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}],
        "securityContext": {"seLinuxOptions": {"level": level}},
    }
    return create("Pod", name, spec=spec)


def _in_use(node: str, *disks: str) -> Step:
    """A kubelet says which volumes it uses."""
    names = [f"kubernetes.io/csi/{csi.DRIVER}^{disk}" for disk in disks]
    return patch_status("Node", node, volumesInUse=names or None)


_OWN = (
    _case(
        "replicationcontroller",
        "replicationcontroller",
        create("ReplicationController", "web", spec={"replicas": 3, "selector": {"app": "a"}, "template": _TEMPLATE}),
        SETTLE,
        {"run_pods": {}},
        SETTLE,
        patch("ReplicationController", "web", spec={"replicas": 0}),
    ),
    _case(
        "ttl-after-finished",
        "job ttl-after-finished",
        create("Job", "j", "batch/v1", spec={"ttlSecondsAfterFinished": 20, "template": _JOB}),
        SETTLE,
        {"run_pods": {"phase": "Succeeded", "ready": False}},
        {"sleep": 60},
        # A watch's timer for silences rounded in two ways, and went off again and again at one moment.
        plans=("seed=8 silent(manager,pods,event=3,seconds=300)",),
    ),
    _case(
        "clusterrole-aggregation",
        "clusterrole-aggregation",
        create("ClusterRole", "part", _RBAC, metadata={"labels": {"into": "whole"}}, rules=[_rule("get")]),
        create(
            "ClusterRole",
            "whole",
            _RBAC,
            aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"into": "whole"}}]},
            rules=[],
        ),
        SETTLE,
        patch("ClusterRole", "part", rules=[_rule("get"), _rule("list")]),
        SETTLE,
        create("ClusterRole", "more", _RBAC, metadata={"labels": {"into": "whole"}}, rules=[_rule("watch")]),
    ),
    _case(
        "endpointslicemirroring",
        "endpointslicemirroring",
        create("Service", "s", spec={"ports": [{"port": 80}]}),
        create("Endpoints", "s", subsets=_subset("10.0.0.1", "10.0.0.2")),
        SETTLE,
        patch("Endpoints", "s", subsets=_subset("10.0.0.2", "10.0.0.3")),
        SETTLE,
        create("Service", "t", spec={"ports": [{"port": 80}]}),
        create("Endpoints", "t", subsets=_subset("10.0.1.1")),
        SETTLE,
        delete("Endpoints", "t"),
        plans=(
            # Slices were made 12,000 times while the garbage collector deleted them, until the deletion was heard of.
            "seed=0 hide(manager,endpoints/case/t,event=2)",
            "seed=0 restart(manager,write=2,version=-5)",
        ),
        # An update takes it away, as in Kubernetes. Who begins on an old view may make the slice anew in place of that.
        may_differ=("endpointslices.discovery.k8s.io/*:metadata.generateName",),
    ),
    _case(
        "csrcleaner",
        "csrcleaner",
        next(step for step in Scenario.read(SCENARIOS / "csr_denied.json").steps if "create" in step),
        SETTLE,
        patch(
            "CertificateSigningRequest",
            "${ns}-r",
            subresource="approval",
            status={"conditions": [{"type": "Denied", "status": "True", "reason": "R"}]},
        ),
        {"sleep": 3 * 3600},
    ),
    _case(
        "nodeipam",
        "nodeipam",
        {"create": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}} for i in range(3)]},
        SETTLE,
        delete("Node", "n1"),
        SETTLE,
        create("Node", "n3"),
        # Which node gets which range depends on the order in which the controller hears of them.
        may_differ=("nodes/*:spec.podCIDR", "nodes/*:spec.podCIDRs"),
    ),
    _case(
        "ttl",
        "ttl",
        {"create": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}} for i in range(3)]},
        SETTLE,
        delete("Node", "n1"),
        SETTLE,
        patch("Node", "n2", metadata={"annotations": {"node.alpha.kubernetes.io/ttl": "77"}}),
    ),
    _case(
        "persistentvolume-expander",
        "persistentvolume-binder persistentvolume-expander pvc-protection pv-protection",
        create(
            "StorageClass",
            "growing",
            "storage.k8s.io/v1",
            provisioner="kubernetes.io/host-path",
            allowVolumeExpansion=True,
        ),
        # One that is there: to make one is to make a directory.
        create("PersistentVolume", "v", spec=_VOLUME),
        SETTLE,
        create("PersistentVolumeClaim", "c", spec=_CLAIM),
        SETTLE,
        patch("PersistentVolumeClaim", "c", spec={"resources": {"requests": {"storage": "2Gi"}}}),
        SETTLE,
        delete("PersistentVolumeClaim", "c"),
        plans=(
            # The volume's reference says which version of the claim it was made for: the comparison leaves it aside.
            "seed=0 conflict(manager,write=1)",
            # Where volumes are made, this one makes a volume too many and takes it back: see below.
            "seed=231 restart(manager,write=2,version=-3)",
        ),
        enable_hostpath_provisioner=True,
        # Who begins on an old view that does not show the volume as free has another one made for the claim. Kubernetes
        # does the same: before it makes a volume it asks the server for the one of the claim's own name, and for no
        # other. So nothing is made here; whether a volume is made once is tried where there is none to be found.
        enable_dynamic_provisioning=False,
    ),
    _case(
        "persistentvolume-provisioning",
        "tests.simulation.controllers.storage:make_binder pvc-protection pv-protection",
        create("StorageClass", "shelf", "storage.k8s.io/v1", provisioner=storage.PROVISIONER),
        create("PersistentVolumeClaim", "one", spec=_CLAIM | {"storageClassName": "shelf"}),
        create("PersistentVolumeClaim", "two", spec=_CLAIM | {"storageClassName": "shelf"}),
        SETTLE,
        delete("PersistentVolumeClaim", "one"),
        # Who begins on an old view may have a volume made for a claim that is gone, and takes it back. Kubernetes does
        # the same: where the claim says already who makes its volume, the server is not asked for it.
        churn_left_out=("persistentvolumes/*",),
        plans=("seed=0 restart(manager,write=15,version=-13)",),
        begin=storage.begin,
    ),
    _case(
        "attachdetach",
        "attachdetach persistentvolume-binder tests.simulation.controllers.csi:make_driver",
        csi.node("a"),
        csi.node("b"),
        *csi.disk(csi.EXCLUSIVE, "ReadWriteOnce"),
        *csi.disk("shared", "ReadWriteMany"),
        SETTLE,
        csi.pod("one", "a", csi.EXCLUSIVE, "shared"),
        csi.pod("two", "b", "shared"),
        SETTLE,
        _in_use("a", csi.EXCLUSIVE, "shared"),
        delete("Pod", "one", gracePeriodSeconds=0),
        csi.pod("three", "b", csi.EXCLUSIVE),
        SETTLE,
        _in_use("a"),
        begin=csi.begin,
        # An operation that has failed some times waits half a minute, and a lost attachment is found after one.
        quiet=130.0,
        plans=(
            # It began on a view without attachments, and never looked at those of before: a volume was on two nodes.
            "seed=0 restart(manager,write=23,version=-20)",
            # It lists in a node's status what was detached on an old view.
            "seed=0 restart(manager,write=23,version=-32)",
            # An exclusive volume could not be detached, and was attached where it was needed next: it was on two nodes.
            "seed=0 refuse(manager,request=43)",
            # On an old view a pod needed the volume that was on its way to another node.
            "seed=3719 restart(manager,write=28,version=-21)",
            # It saw an attachment of before earlier than its volume, and never looked at it again.
            "seed=205 cut(manager,request=34,event=1) restart(manager,write=25,version=-33)",
            # It saw the volume and a pod right after such an attachment, and attached it to the node of that pod, too.
            "seed=0 restart(manager,write=24,version=-35)",
        ),
        # Who begins on a view with a pod that is gone attaches its volume again, and detaches it later (restart after
        # the 27th write, 22 changes behind). Kubernetes does the same: only before it detaches it asks the server.
        churn_left_out=("volumeattachments.storage.k8s.io/*",),
    ),
    _case(
        "resourcequota",
        "resourcequota",
        create("ResourceQuota", "q", spec={"hard": {"configmaps": "3", "pods": "2"}}),
        SETTLE,
        create("ConfigMap", "a"),
        create("ConfigMap", "b"),
        SETTLE,
        delete("ConfigMap", "a"),
        SETTLE,
        patch("ResourceQuota", "q", spec={"hard": {"configmaps": "5"}}),
        # A worker of each queue recounted it at once: one wrote what was no longer so, the other saw nothing to write.
        plans=("seed=0 restart(manager,write=3,version=-4)",),
    ),
    _case(
        "resourceclaim",
        "resource-claim-controller",
        *_allocated_claim(),
        _pod_with_device("one"),
        _pod_with_device("two"),
        SETTLE,
        # The claim stays with the second pod, and then with none.
        patch_status("Pod", "one", phase="Succeeded"),
        SETTLE,
        delete("Pod", "two"),
        {"end_pods": {}},
        SETTLE,
        # Who dies between the two writes of a release leaves the finalizer, as Kubernetes does: a claim that has it may
        # be about to get devices. The claim's deletion takes it away.
        delete("ResourceClaim", "shared"),
        plans=("seed=0 crash(manager,write=4)", "seed=0 cut(manager,request=9)"),
    ),
    _case(
        "podgroup-protection",
        "podgroup-protection-controller",
        create("PodGroup", "g", _SCHEDULING, metadata={"finalizers": [f"{_GROUP}/podgroup-protection"]}, spec=_BASIC),
        SETTLE,
        create("Pod", "one", spec=_IN_GROUP),
        create("Pod", "two", spec=_IN_GROUP),
        delete("PodGroup", "g"),
        SETTLE,
        patch_status("Pod", "one", phase="Succeeded"),
        SETTLE,
        delete("Pod", "two"),
        begin=groups.begin,
        # The cache did not have the pods yet: without a list from the server, the group went.
        plans=("seed=0 silent(manager,pods,event=1,seconds=1)",),
    ),
    _case(
        "resourcepoolstatusrequest",
        "resourcepoolstatusrequest-controller",
        *_allocated_claim(),
        create("ResourceSlice", "s", _DEVICES, spec=_SLICE),
        create("ResourcePoolStatusRequest", "early", f"{_DEVICES}alpha3", spec={"driver": "d.example.com"}),
        {"sleep": 2 * 3600},
        # The answer to the first one is gone by now.
        create("ResourceSlice", "t", _DEVICES, spec=_SLICE | {"pool": {**_SLICE_POOL, "name": "q"}}),
        create("ResourcePoolStatusRequest", "late", f"{_DEVICES}alpha3", spec={"driver": "d.example.com"}),
        # The answer did not show the slice that was made just before its request.
        plans=("seed=19",),
        # An answer is final. Before the controller answers, it compares its caches with a watch of its own. No API
        # server hides an event from both.
        faults=Faults(hide=0.0),
    ),
    _case(
        "selinux-warning",
        "selinux-warning-controller persistentvolume-binder",
        create("CSIDriver", csi.DRIVER, "storage.k8s.io/v1", spec={"seLinuxMount": True}),
        *csi.disk("shared", "ReadWriteMany"),
        _labelled("one", "s0:c1"),
        _labelled("two", "s0:c2"),
        SETTLE,
        delete("Pod", "one"),
        _labelled("three", "s0:c3"),
        begin=selinux.begin,
    ),
    _case(
        "device-taint-eviction",
        "device-taint-eviction-controller",
        *_allocated_claim(),
        create("ResourceSlice", "s", _DEVICES, spec=_SLICE),
        _pod_with_device("one"),
        {"reserve": {"claim": "shared", "pod": "one"}},
        # This one does not use the claim.
        _pod_with_device("two"),
        SETTLE,
        create("DeviceTaintRule", "away", f"{_DEVICES}beta2", spec={"taint": {"key": "a", "effect": "NoExecute"}}),
        SETTLE,
        patch("DeviceTaintRule", "away", spec={"deviceSelector": {"driver": "d.example.com"}}),
        SETTLE,
        {"end_pods": {}},
        feature_gates="DRADeviceTaintRules=true",
        # How many pods were evicted since the controller started, and when the condition was written.
        may_differ=("devicetaintrules.resource.k8s.io/*:status.conditions",),
    ),
    _case(
        "storageversion-gc",
        "storage-version-gc",
        *(create("StorageVersion", one, "internal.apiserver.k8s.io/v1alpha1", spec={}) for one in ("x", "y", "z")),
        *(_api_server(one) for one in "abc"),
        _stored_by("x", *"abc"),
        _stored_by("y", "b"),
        SETTLE,
        delete("Lease", "kube-system/b"),
        # This server has no Lease at all.
        _stored_by("z", "e", "c"),
        SETTLE,
        _api_server("b"),
        _stored_by("z", *"bc"),
        delete("Lease", "kube-system/c"),
        begin=gated.servers_are_known,
    ),
    _case(
        "storage-version-migrator",
        "svm",
        create("ConfigMap", "a"),
        create("StorageVersionMigration", "m", _MIGRATION, spec={"resource": {"resource": "configmaps"}}),
        create("StorageVersionMigration", "n", _MIGRATION, spec={"resource": {"resource": "configmaps"}}),
        create("CustomResourceDefinition", "widgets.example.com", "apiextensions.k8s.io/v1", spec=_widgets("v1")),
        SETTLE,
        patch("CustomResourceDefinition", "widgets.example.com", spec=_widgets("v2")),
        create("StorageVersionMigration", "w", _MIGRATION, spec={"resource": _WIDGETS}),
        # The version of the resource when the migration began.
        may_differ=("storageversionmigrations.storagemigration.k8s.io/*:status.resourceVersion",),
    ),
    _case(
        "podcertificaterequest-cleaner",
        "podcertificaterequest-cleaner-controller",
        create("PodCertificateRequest", "r", _CERTIFICATES, spec=_REQUEST),
        {"sleep": 3600},
    ),
    _case(
        "clustertrustbundle-publisher",
        "kube-apiserver-serving-clustertrustbundle-publisher-controller",
        SETTLE,
        *(
            create("ClusterTrustBundle", f"kubernetes.io:kube-apiserver-serving:{one}", _CERTIFICATES, spec=_BUNDLE)
            for one in ("old", "older")
        ),
        begin=gated.signer_has_a_bundle,
    ),
    _case(
        "legacy-service-account-token-cleaner",
        "legacy-service-account-token-cleaner",
        create("ServiceAccount", "bot", secrets=[{"name": "old"}, {"name": "older"}]),
        {"legacy_token": {"account": "bot", "name": "old"}},
        {"legacy_token": {"account": "bot", "name": "older", "is_invalid": True}},
        # It looks once a day: then it marks one token, and takes away the one that is marked. If it is started again on
        # an old view just then, it does so on the next day.
        {"sleep": 48 * 3600 + 60},
        legacy_service_account_token_clean_up_period=3600.0,
        share=16,
        # The day on which it was marked.
        may_differ=("secrets/*:metadata.labels",),
    ),
    _case(
        "ephemeral-volume",
        "ephemeral-volume",
        create("Pod", "p", spec=_SCRATCH),
        create("Pod", "q", spec=_SCRATCH),
        SETTLE,
        delete("PersistentVolumeClaim", "p-scratch"),
        SETTLE,
        delete("Pod", "q"),
    ),
    _case(
        "service-cidr",
        "service-cidr-controller",
        create("ServiceCIDR", "narrow", _NETWORKING, spec={"cidrs": ["10.1.0.0/24"]}),
        create(
            "IPAddress",
            "10.1.0.9",
            _NETWORKING,
            metadata={"labels": _OF_A_SERVICE},
            spec={"parentRef": {"resource": "services", "namespace": "default", "name": "s"}},
        ),
        SETTLE,
        delete("ServiceCIDR", "narrow"),
        {"sleep": 15},
        create("ServiceCIDR", "wide", _NETWORKING, spec={"cidrs": ["10.1.0.0/16"]}),
        {"sleep": 15},
        delete("ServiceCIDR", "wide"),
        {"sleep": 15},
        delete("IPAddress", "10.1.0.9"),
    ),
    _case(
        "volumeattributesclass-protection",
        "volumeattributesclass-protection-controller pvc-protection",
        create("VolumeAttributesClass", "gold", "storage.k8s.io/v1", driverName="d.example.com", parameters={"a": "b"}),
        create("PersistentVolumeClaim", "c", spec=_CLAIM | {"volumeAttributesClassName": "gold"}),
        SETTLE,
        delete("VolumeAttributesClass", "gold"),
        SETTLE,
        delete("PersistentVolumeClaim", "c"),
    ),
    _case(
        "validatingadmissionpolicy-status",
        "validatingadmissionpolicy-status-controller",
        create("ValidatingAdmissionPolicy", "p", "admissionregistration.k8s.io/v1", spec=_policy("object.spec.x == 1")),
        SETTLE,
        patch("ValidatingAdmissionPolicy", "p", spec=_policy("object.spec.replicas > 1")),
    ),
    _case(
        "bootstrap-tokens",
        "bootstrapsigner tokencleaner",
        *(step for step in Scenario.read(SCENARIOS / "boot_signed.json").steps if "ensure_in" in step),
        SETTLE,
        {
            "ensure_in": [
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": "bootstrap-token-abd003", "namespace": "kube-system"},
                    "type": "bootstrap.kubernetes.io/token",
                    "stringData": {
                        "token-id": "abd003",
                        "token-secret": "0123456789abcdef",
                        "usage-bootstrap-signing": "true",
                        # Half an hour after a simulated world begins.
                        "expiration": "2026-01-01T00:30:00Z",
                    },
                }
            ]
        },
        {"sleep": 3600},
    ),
)


def _counted(name: str, controllers: str, steps: Sequence[Step], **options: Any) -> Case:
    """
    Steps of which it matters how many pods are made on the way: as many as without faults.

    Who begins on an old view, or misses an event, makes some twice and takes them back, as Kubernetes' controllers do.
    So these faults are left out.
    """
    return Case(name, controllers.split(), steps, extra_generated=0.0, faults=CRASHED_AND_LATE, **options)


_COUNTED = (
    *(
        # What a pod that is to go still has of its finalizers: a job that begins anew takes them off.
        _counted(f"job {name}", "job ttl-after-finished", steps, may_differ=("pods/*:metadata.finalizers",))
        for name, steps in JOBS.items()
    ),
    *(
        # Which version of its Job the status names: the one that was seen.
        _counted(f"cronjob {name}", "cronjob job", steps, may_differ=("cronjobs.batch/*:status.active",))
        for name, steps in CRON_JOBS.items()
    ),
)

CASES: tuple[Case, ...] = (*_OWN, *GOLDEN, *_COUNTED)
