"""``kinformer manager`` serves the webhooks of an operator in one file; ``kinformer rbac`` says what they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kinformer.cli.webhooks import WebhookFlags
from kinformer.client import Forbidden, connect
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.operator.webhooks import Webhooks
from kinformer.options import OptionError
from tests.cli.commands import kinformer, output_until, running
from tests.ports import free_port

OPERATOR = """
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext
from kinformer.models import V1ConfigMap
from kinformer.operator import Reconciler
from kinformer.operator.webhooks import AdmissionRequest, Denied, Webhooks

webhooks = Webhooks("maps.example.com")


@webhooks.validating(V1ConfigMap, operations=("CREATE",))
def check(request: AdmissionRequest[V1ConfigMap]) -> None:
    raise Denied("no more maps")


class Maps(Reconciler[V1ConfigMap]):
    name = "maps"
    webhooks = webhooks

    async def reconcile(self, obj: V1ConfigMap) -> None: ...
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_maps.py").write_text(OPERATOR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_a_file_with_a_reconciler_and_its_webhooks_is_an_operator(here: Path) -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.write_kubeconfig(here / "kubeconfig")
        flags = ("--webhook-bind-address", "127.0.0.1", "--webhook-port", free_port())
        async with running(
            "manager", "--kubeconfig", here / "kubeconfig", "--controllers", "my_maps:Maps", *flags
        ) as process:
            await output_until(process, "webhooks_registered")
            made = V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="default"))
            with pytest.raises(Forbidden, match="no more maps"):
                await client.resource(V1ConfigMap).create(made)
            process.terminate()
            assert await process.wait() == 0


async def test_the_roles_of_two_managers_have_different_names(here: Path) -> None:
    command = ("rbac", "my_maps:Maps", "--webhook-service", "ops/maps", "--service-account")
    for account in ("ops/maps", "shop/operator"):
        roles = list(yaml.safe_load_all((await kinformer(*command, account)).out))
        manager, own = (f"kinformer:{name}:{account.replace('/', ':')}" for name in ("manager", "maps"))
        assert {role["roleRef"]["name"] for role in roles if "roleRef" in role} == {"kinformer:maps", manager}
        assert {role["metadata"]["name"] for role in roles} == {"kinformer:maps", manager, own}


async def test_what_webhooks_need_is_in_the_managers_roles(here: Path) -> None:
    done = await kinformer("rbac", "my_maps:Maps", "--webhook-service", "ops/maps", "--webhook-secret", "ops/other")
    without = await kinformer("rbac", "my_maps:Maps")

    assert (done.status, done.err) == (0, "")
    roles = [(role["kind"], role["metadata"]["name"], role["rules"]) for role in yaml.safe_load_all(done.out)]
    (_, own, rules), (_, manager, secret), (_, _, registering) = roles
    assert (own, manager) == ("kinformer:maps", "kinformer:manager")
    assert rules[0] == {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch", "get", "patch"]}
    assert (secret[0]["resourceNames"], secret[0]["verbs"]) == (["other"], ["get", "update"])
    assert registering[0]["resourceNames"] == ["maps.example.com"]
    assert without.status == 1
    assert without.err.startswith("kinformer: the webhooks need a Secret for their certificate: want --webhook-service")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"webhook_service": "maps"}, "--webhook-service is 'maps': want NAMESPACE/NAME"),
        ({"webhook_service": "ops/maps:x"}, "'ops/maps:x': want NAMESPACE/NAME or NAMESPACE/NAME:PORT"),
        ({"webhook_inject_ca_from": "ops/maps"}, "--webhook-inject-ca-from goes with --webhook-cert-dir"),
        ({}, "API servers do not know where the webhooks are: want --webhook-service NAMESPACE/NAME, or"),
    ],
    ids=["no namespace", "no port", "no files", "no address"],
)
async def test_flags_that_do_not_fit_are_errors_that_name_them(flags: dict[str, Any], said: str) -> None:
    async with connect(url="http://127.0.0.1:1", token="x") as client:
        context = ControllerContext(client, SharedInformerFactory(client))
        with pytest.raises(OptionError, match=said):
            WebhookFlags(**flags).serve([Webhooks("w")], context, client)
