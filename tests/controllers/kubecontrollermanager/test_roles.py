"""Each built-in controller needs no more than Kubernetes' own role of its account has.

``tests/golden/test_scenarios.py`` plays the scenarios with these roles.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinformer.manager import known_controllers
from kinformer.manager.loading import builtin_controllers
from kinformer.manager.rbac import manager_rules
from kinformer.permissions import Permission, permissions_of
from tests.controllers.kubecontrollermanager.roles import MANAGER, account_of, allowed
from tests.controllers.scenarios.allowed import rules_of

#: What a server allows only with feature gates that are off by default, and the gates.
GATED = {
    "device-taint-eviction-controller": ("DRADeviceTaintRules", "devicetaintrules"),
    "kube-apiserver-serving-clustertrustbundle-publisher": ("ClusterTrustBundle", "clustertrustbundles signers"),
    "podcertificaterequestcleaner": ("PodCertificateRequest", "podcertificaterequests"),
    "podgroup-protection-controller": ("GenericWorkload", "podgroups"),
    "resource-claim-controller": ("DRAWorkloadResourceClaims", "podgroups"),
    "resourcepoolstatusrequest-controller": ("DRAResourcePoolStatus", "resourcepoolstatusrequests"),
    "storage-version-garbage-collector": ("StorageVersionAPI", "leases storageversions"),
    "storage-version-migrator-controller": (
        "StorageVersionMigrator",
        "* customresourcedefinitions storageversionmigrations",
    ),
}
BUILTIN = [name for name in builtin_controllers(known_controllers()) if account_of(name) is not None]


def lacking(controller: str, *, gates: bool) -> Iterator[Permission]:
    """What a controller declares and neither its account may do, nor an informer with the manager's credentials."""
    account = account_of(controller)
    assert account is not None
    for one in permissions_of(rules_of(controller)):
        informs = one.verb in ("list", "watch") and allowed(MANAGER, one)
        if not informs and not allowed(account, one, gates=gates):
            yield one


@pytest.mark.parametrize("controller", BUILTIN)
def test_a_controller_needs_nothing_that_its_account_may_not_do(controller: str) -> None:
    assert not [str(one) for one in lacking(controller, gates=True)]


def test_only_controllers_behind_feature_gates_need_what_no_server_allows_by_default() -> None:
    needed = {account_of(name): {one.resource for one in lacking(name, gates=False)} for name in BUILTIN}

    assert {account: found for account, found in needed.items() if found} == {
        account: {*resources.split()} for account, (_, resources) in GATED.items()
    }


def test_the_manager_needs_nothing_that_its_user_may_not_do() -> None:
    rules = manager_rules(("kube-system", "kube-controller-manager"), reviews=True)

    assert not [str(one) for one in permissions_of(rules) if not allowed(MANAGER, one)]


def test_a_role_has_names_and_namespaces_and_no_more() -> None:
    sign = Permission("sign", "certificates.k8s.io", "signers", name="kubernetes.io/kubelet-serving")
    delete = Permission("delete", "", "secrets", namespace="kube-system")

    assert allowed("certificate-controller", sign)
    assert not allowed("certificate-controller", sign._replace(name="example.com/other"))
    assert allowed("token-cleaner", delete)
    assert not allowed("token-cleaner", delete._replace(namespace="default"))
    assert not allowed("attachdetach-controller", Permission("get", "", "pods"))
