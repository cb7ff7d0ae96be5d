"""`kinformer kube-controller-manager` with the command of kubeadm's static pod, as a process."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.certificates import Authority
from kinformer.models import V1ClusterRole, V1ClusterRoleBinding, V1Deployment, V1Lease, V1Pod, from_dict
from kinformer.permissions import policy_rules
from tests.cli.commands import kinformer, output_until, running
from tests.controllers.kubecontrollermanager.roles import granted
from tests.ports import free_port

LABELS = {"app": "web"}
DEPLOYMENT = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


def certificates(folder: Path) -> ssl.SSLContext:
    """Write the files of /etc/kubernetes/pki, and return what a client with a certificate connects with."""
    authority = Authority()
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "ca.key").write_bytes(authority.pair.key)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "sa.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, pem, plain))
    pair = authority.issue("admin", groups=("system:masters",))
    (folder / "admin.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(folder / "admin.pem")
    return context


async def allow(client: Client, account: str) -> None:
    """Let a service account do what the cluster's own role lets it do."""
    name, group = f"system:controller:{account}", "rbac.authorization.k8s.io"
    rules = policy_rules(rule for rule, _ in granted(account))
    await client.resource(V1ClusterRole).create(from_dict(V1ClusterRole, {"metadata": {"name": name}, "rules": rules}))
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": account}],
    }
    await client.resource(V1ClusterRoleBinding).create(from_dict(V1ClusterRoleBinding, binding))


def manager_of(obj: Any) -> str:
    """Who wrote the fields of an object."""
    [entry] = obj.metadata.managed_fields
    return str(entry.manager)


async def pods_until(client: Client, count: int) -> None:
    seen: set[str] = set()
    async with client.resource(V1Pod).watch("default", label_selector="app=web") as batches:
        async for batch in batches:
            seen.update(event.object.metadata.name for event in batch)
            if len(seen) >= count:
                return


async def test_the_command_of_a_static_pod_starts_the_controllers(tmp_path: Path) -> None:
    with_certificate, port = certificates(tmp_path), free_port()
    without = ssl.create_default_context()
    without.check_hostname, without.verify_mode = False, ssl.CERT_NONE
    conf = tmp_path / "controller-manager.conf"
    command = f"""
    --allocate-node-cidrs=true --authentication-kubeconfig={conf} --authorization-kubeconfig={conf}
    --bind-address=127.0.0.1 --client-ca-file={tmp_path}/ca.crt --cluster-cidr=10.244.0.0/16 --cluster-name=kubernetes
    --cluster-signing-cert-file={tmp_path}/ca.crt --cluster-signing-key-file={tmp_path}/ca.key
    --controllers=*,bootstrapsigner,tokencleaner --kubeconfig={conf} --leader-elect=true
    --requestheader-client-ca-file={tmp_path}/ca.crt --root-ca-file={tmp_path}/ca.crt --secure-port={port}
    --service-account-private-key-file={tmp_path}/sa.key --service-cluster-ip-range=10.96.0.0/12
    --use-service-account-credentials=true --feature-gates=MemoryQoS=true
    """.split()
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.write_kubeconfig(conf)
        await allow(client, "deployment-controller")
        await allow(client, "replicaset-controller")
        await client.resource(V1Deployment).create(from_dict(V1Deployment, DEPLOYMENT))
        async with running("kube-controller-manager", *command) as process:
            printed = await output_until(process, "lease_acquired")
            with anyio.fail_after(60):
                await pods_until(client, 2)

            assert "--requestheader-client-ca-file" in printed
            assert "feature gate MemoryQoS" in printed
            lease = await client.resource(V1Lease).get("kube-controller-manager", "kube-system")
            assert lease.spec is not None
            assert lease.spec.holder_identity
            assert manager_of(lease) == "kube-controller-manager"
            [pod, _] = (await client.resource(V1Pod).list("default", label_selector="app=web")).items
            assert manager_of(pod) == "kube-controller-manager"
            url = f"https://127.0.0.1:{port}"
            async with aiohttp.ClientSession() as session:
                for path, tls, status in (
                    ("/healthz", without, 200),
                    ("/metrics", without, 403),
                    ("/metrics", with_certificate, 200),
                ):
                    async with session.get(f"{url}{path}", ssl=tls) as answer:
                        assert answer.status == status, path
            process.terminate()
            assert await process.wait() == 0


@pytest.mark.parametrize("argument", ["--nope", "--cloud-provider=aws", "--feature-gates=Nope=true"])
async def test_a_wrong_flag_is_one_line(argument: str) -> None:
    done = await kinformer("kube-controller-manager", argument)

    assert done.status == 1
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
