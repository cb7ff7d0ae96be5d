"""The status pages: headings and forms of Kubernetes 1.36's component-base, and nothing that is secret."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
import yaml

from kinformer.client import connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager
from kinformer.manager.serving.pages import Status, classified, configz, debugging_paths, flagz, statusz
from tests.cache.informers import running

STARTED = datetime(2026, 3, 7, 9, 5, 2, tzinfo=UTC)
STATUS = Status("kinformer-manager", STARTED, "0.1.0", "3.13.1", ("/healthz", "/metrics"))
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only.\n"
)


@pytest.mark.parametrize(
    "accept", ["", "text/plain", "*/*", "text/html, */*;q=0.8", "application/json, text/plain;q=0.1"]
)
def test_statusz_is_text_for_who_asks_for_no_kind(accept: str) -> None:
    page = statusz(STATUS, STARTED + timedelta(hours=30, minutes=4, seconds=9), accept)

    assert (page.status, page.content_type) == (200, "text/plain; charset=utf-8")
    assert page.body == (
        f"\nkinformer-manager statusz\n{WARNING}"
        "\nStarted: Sat Mar  7 09:05:02 UTC 2026\nUp: 30 hr 04 min 09 sec\nPython version: 3.13.1\n"
        "Binary version: 0.1.0\nPaths: /healthz /metrics\n"
    )


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_statusz_is_an_object_for_who_asks_for_its_kind(form: str, version: str) -> None:
    accept = f"application/{form};as=Statusz;v={version};g=config.k8s.io"
    page = statusz(STATUS, STARTED + timedelta(seconds=90), accept)

    assert page.content_type == f"application/{form}"
    found = json.loads(page.body) if form == "json" else yaml.load(page.body, Loader=yaml.BaseLoader)
    assert str(found.pop("uptimeSeconds")) == "90"
    assert found == {
        "kind": "Statusz",
        "apiVersion": f"config.k8s.io/{version}",
        "metadata": {"name": "kinformer-manager"},
        "startTime": "2026-03-07T09:05:02Z",
        "binaryVersion": "0.1.0",
        "paths": ["/healthz", "/metrics"],
    }
    assert ("deprecated" in page.warning) == (version == "v1alpha1")


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "text/html",
        "application/json;as=Flagz;v=v1beta1;g=config.k8s.io",
        "application/json;as=Statusz;v=v2;g=config.k8s.io",
        "application/json;as=Statusz;v=v1beta1;g=other",
        "text/plain;as=Statusz;v=v1beta1;g=config.k8s.io",
        "text/plain;q=0",
        "nonsense;;=;q=x",
    ],
)
def test_a_form_that_there_is_not_is_not_acceptable(accept: str) -> None:
    page = statusz(STATUS, STARTED, accept)

    assert page.status == 406
    assert json.loads(page.body)["reason"] == "NotAcceptable"


def test_the_dearest_form_is_given() -> None:
    accept = "text/plain;q=0.5, application/json;as=Statusz;v=v1beta1;g=config.k8s.io;q=0.9"

    assert statusz(STATUS, STARTED, accept).content_type == "application/json"


def test_flagz_has_each_flag_in_order_with_what_it_has_come_to() -> None:
    flags = {"v": 2, "leader-elect": True, "kubeconfig": None, "controllers": "*", "option": ("a=1", "db-password=x")}

    assert flagz("kinformer-manager", flags, "").body == (
        f"\nkinformer-manager flagz\n{WARNING}"
        "controllers=*\nkubeconfig=\nleader-elect=true\noption=[a=1,db-password=CLASSIFIED]\nv=2\n"
    )
    accept = "application/json;as=Flagz;v=v1beta1;g=config.k8s.io"
    assert json.loads(flagz("kinformer-manager", {"v": 2}, accept).body)["flags"] == {"v": "2"}


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("token", "abc", "CLASSIFIED"),
        ("cloud_password", "abc", "CLASSIFIED"),
        ("client-secret", "abc", "CLASSIFIED"),
        ("api-key", "abc", "CLASSIFIED"),
        ("token", "", ""),
        ("tls-private-key-file", "/etc/tls.key", "/etc/tls.key"),
        ("token-file", "/run/token", "/run/token"),
        ("concurrent-serviceaccount-token-syncs", 5, "5"),
        ("server", "https://me:hunter2@example.com/x", "https://CLASSIFIED@example.com/x"),
        ("server", "https://example.com/a@b", "https://example.com/a@b"),
    ],
)
def test_what_is_secret_by_its_name_is_not_shown(name: str, value: object, shown: str) -> None:
    assert classified(name, value) == shown


def test_configz_redacts_at_any_depth() -> None:
    page = configz({"x": {"kind": "K", "deep": [{"auth": {"token": "abc", "tokens": 3, "url": "http://a:b@c"}}]}})

    assert json.loads(page.body) == {
        "x": {"kind": "K", "deep": [{"auth": {"token": "CLASSIFIED", "tokens": 3, "url": "http://CLASSIFIED@c"}}]}
    }


def test_paths_are_shown_by_their_first_parts() -> None:
    assert debugging_paths(["/readyz", "/readyz/{name}", "/", "/apis/x", "/metrics/slis"]) == ("/metrics", "/readyz")


async def test_a_managers_pages_show_what_it_runs_with() -> None:
    async def sync(key: str) -> None: ...

    def make(context: ControllerContext) -> Controller:
        context.option("sync_token", "abc")
        context.option("counters", 3)
        return Controller("paged", sync)

    clock = FakeClock()
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        manager = Manager(
            client,
            known={"paged": make},
            options={"counters": 5},
            endpoint=("127.0.0.1", 0),
            leader_election=LeaderElection(name="paged"),
            clock=clock,
        )
        manager.pages.flags = {"controllers": "*"}
        endpoint = manager.endpoint
        assert endpoint is not None
        async with running(endpoint.run):
            await endpoint.listening.wait()
            async with aiohttp.ClientSession(f"http://127.0.0.1:{endpoint.port}") as session:
                async with session.get("/configz") as answer:
                    (config,) = (await answer.json()).values()
                async with session.get("/flagz", headers={"Accept": "text/plain"}) as answer:
                    assert (await answer.text()).endswith("\ncontrollers=*\n")
                async with session.get("/statusz", headers={"Accept": "text/plain"}) as answer:
                    status = await answer.text()

    assert (config["kind"], config["apiVersion"]) == ("ManagerConfiguration", "manager.kinformer.dev/v1alpha1")
    assert config["controllers"] == ["paged"]
    assert config["options"] == {"counters": 5, "sync_token": "CLASSIFIED"}
    assert config["leaderElection"]["resourceName"] == "paged"
    assert config["leaderElection"]["lease_duration"] == 15
    paths = status.rpartition("\nPaths: ")[2].split()
    assert {"/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz"} <= set(paths)
