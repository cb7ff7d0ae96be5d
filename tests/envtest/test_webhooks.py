from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import web

from kinformer.client.tls import load_identity
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.certificates import Authority
from kinformer.envtest.webhooks.calling import Caller
from tests.envtest.conftest import Http
from tests.envtest.webhook_server import Hook, allow, deny, patch, serve_webhook

pytest.importorskip("cryptography", reason="webhooks are called over TLS only")

PODS = "/api/v1/namespaces/default/pods"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


def pod(name: str = "p", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def add_label(key: str, value: str = "x") -> dict[str, Any]:
    return patch({"op": "add", "path": "/metadata/labels", "value": {key: value}})


def client_of(token: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def hook(authority: Authority) -> AsyncIterator[Hook]:
    async with serve_webhook(authority) as hook:
        yield hook


async def configure(http: Http, sort: str, *webhooks: dict[str, Any], name: str = "c") -> dict[str, Any]:
    path = f"{CONFIGURATIONS}/{sort}webhookconfigurations"
    created: dict[str, Any] = await http.create(path, {"metadata": {"name": name}, "webhooks": list(webhooks)})
    return created


async def test_a_webhook_that_denies_keeps_an_object_out(http: Http, hook: Hook) -> None:
    await configure(http, "validating", hook.webhook())
    hook.decide = lambda request: deny(code=403, reason="Forbidden", message="not today")
    code, refusal = await http("POST", PODS, pod())
    assert (code, refusal["reason"]) == (403, "Forbidden")
    assert refusal["message"] == 'admission webhook "a.example.com" denied the request: not today'
    assert (await http("GET", f"{PODS}/p"))[0] == 404


async def test_a_denial_without_words_is_a_bad_request_without_explanation(http: Http, hook: Hook) -> None:
    await configure(http, "validating", hook.webhook())
    hook.decide = lambda request: deny()
    code, refusal = await http("POST", PODS, pod())
    assert code == 400
    assert refusal["message"] == 'admission webhook "a.example.com" denied the request without explanation'
    hook.decide = lambda request: deny(reason="Why", code=200)
    code, refusal = await http("POST", PODS, pod())
    assert (code, refusal["message"]) == (400, 'admission webhook "a.example.com" denied the request: Why')


async def test_a_review_tells_what_is_written_and_by_whom(http: Http, hook: Hook) -> None:
    await configure(http, "mutating", hook.webhook("m.example.com", "/m"))
    await configure(http, "validating", hook.webhook("v.example.com", "/v", timeoutSeconds=3))
    created = await http.create(f"{PODS}?fieldManager=me", pod())
    first, second = hook.asked
    assert first["path"] == "/m?timeout=10s"
    assert second["path"] == "/v?timeout=3s"
    assert first["kind"] == first["requestKind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert first["resource"] == first["requestResource"] == {"group": "", "version": "v1", "resource": "pods"}
    assert (first["name"], first["namespace"], first["operation"]) == ("p", "default", "CREATE")
    assert first["userInfo"] == {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
    assert first["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}
    assert first["dryRun"] is False
    assert first["oldObject"] is None
    assert first["object"]["kind"] == "Pod"
    assert first["object"]["spec"]["restartPolicy"] == "Always"
    assert "uid" not in first["object"]["metadata"]
    # The validating ones see what is going to be stored.
    assert second["object"]["metadata"]["uid"] == created["metadata"]["uid"]


async def test_a_webhook_changes_an_object_before_others_look_at_it(http: Http, hook: Hook) -> None:
    await configure(http, "mutating", hook.webhook("m.example.com", "/m"))
    await configure(http, "validating", hook.webhook("v.example.com", "/v"))
    hook.decide = lambda request: add_label("by", "m") if not request["object"]["metadata"].get("uid") else allow()
    created = await http.create(PODS, pod())
    assert created["metadata"]["labels"] == {"by": "m"}
    assert hook.asked[1]["object"]["metadata"]["labels"] == {"by": "m"}
    assert hook.names == ["m", "v"]


async def test_webhooks_are_asked_in_the_order_of_their_configurations_names(http: Http, hook: Hook) -> None:
    await configure(http, "mutating", hook.webhook("z.example.com", "/3"), name="b")
    await configure(
        http, "mutating", hook.webhook("y.example.com", "/1"), hook.webhook("x.example.com", "/2"), name="a"
    )
    await http.create(PODS, pod())
    assert hook.names == ["1", "2", "3"]


async def test_what_a_webhook_adds_is_defaulted_and_validated(http: Http, hook: Hook) -> None:
    await configure(http, "mutating", hook.webhook())
    sidecar = {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "s"}}
    hook.decide = lambda request: patch(sidecar)
    created = await http.create(PODS, pod())
    assert created["spec"]["containers"][1]["imagePullPolicy"] == "Always"
    hook.decide = lambda request: patch({**sidecar, "value": {"name": "c", "image": "s"}})
    code, refusal = await http("POST", PODS, pod("q"))
    assert (code, refusal["reason"]) == (422, "Invalid")
    hook.decide = lambda request: patch({"op": "replace", "path": "/spec/containers", "value": 3})
    assert (await http("POST", PODS, pod("q")))[0] == 500


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ({}, True),
        ({"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}, True),
        ({"resources": ["*/*"]}, True),
        ({"resources": ["pods/*"]}, True),
        ({"resources": ["pods/status"]}, False),
        ({"operations": ["UPDATE", "DELETE"]}, False),
        ({"operations": ["*"]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"apiVersions": ["v2"]}, False),
        ({"scope": "Namespaced"}, True),
        ({"scope": "Cluster"}, False),
    ],
)
async def test_rules_say_which_writes_a_webhook_is_asked_about(
    http: Http, hook: Hook, rule: dict[str, Any], asked: bool
) -> None:
    await configure(http, "validating", hook.webhook(rule=rule))
    await http.create(PODS, pod())
    assert len(hook.asked) == asked


async def test_subresources_are_asked_about_by_their_own_names(http: Http, hook: Hook) -> None:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    await http.create(PODS, pod())
    deployment = {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]},
        },
    }
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    await http.create(deployments, deployment)
    await configure(http, "validating", hook.webhook(rule=rule))
    await http.merge(f"{PODS}/p/status", {"status": {"message": "m"}})
    await http.merge(f"{deployments}/d/scale", {"spec": {"replicas": 5}})
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    await http("POST", f"{PODS}/p/binding", binding)
    await http("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}})
    told = [(one["operation"], one.get("subResource"), one["kind"]["kind"], one["name"]) for one in hook.asked]
    assert told == [
        ("UPDATE", "status", "Pod", "p"),
        ("UPDATE", "scale", "Scale", "d"),
        ("CREATE", "binding", "Binding", "p"),
        ("CREATE", "eviction", "Eviction", "p"),
    ]
    assert hook.asked[1]["object"]["spec"] == {"replicas": 5}
    assert hook.asked[1]["oldObject"]["spec"] == {"replicas": 1}


async def test_selectors_narrow_down_what_is_asked_about(http: Http, hook: Hook) -> None:
    await http.create("/api/v1/namespaces", {"metadata": {"name": "team", "labels": {"team": "a"}}})
    await configure(
        http, "validating", hook.webhook("n.example.com", "/n", namespaceSelector={"matchLabels": {"team": "a"}}),
        hook.webhook("o.example.com", "/o", objectSelector={"matchLabels": {"app": "a"}}),
    )  # fmt: skip
    await http.create(PODS, pod())
    assert hook.names == []
    await http.create("/api/v1/namespaces/team/pods", pod())
    assert hook.names == ["n"]
    await http.create(PODS, pod("q", labels={"app": "a"}))
    assert hook.names == ["n", "o"]


async def test_updates_and_deletes_show_what_is_stored(http: Http, hook: Hook) -> None:
    await http.create(PODS, pod())
    await configure(http, "validating", hook.webhook(rule={"operations": ["UPDATE", "DELETE"]}))
    await http.merge(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    await http("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
    update, delete = hook.asked
    assert update["options"]["kind"] == "UpdateOptions"
    assert (update["object"]["metadata"]["labels"], update["oldObject"]["metadata"].get("labels")) == ({"a": "b"}, None)
    assert (delete["operation"], delete["object"]) == ("DELETE", None)
    assert delete["oldObject"]["metadata"]["labels"] == {"a": "b"}
    assert delete["options"] == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0}
    assert (await http("GET", f"{PODS}/p"))[0] == 404


async def test_a_collection_is_deleted_one_verdict_at_a_time(http: Http, hook: Hook) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    for name in ("a", "b", "c"):
        await http.create(maps, {"metadata": {"name": name}})
    await configure(http, "validating", hook.webhook(rule={"operations": ["DELETE"], "resources": ["configmaps"]}))
    hook.decide = lambda request: deny(message="stays") if request["name"] == "c" else allow()
    code, _ = await http("DELETE", maps)
    assert code == 400
    assert [asked["name"] for asked in hook.asked] == ["a", "b", "c"]
    hook.decide = lambda request: allow()
    code, gone = await http("DELETE", maps)
    assert (code, [item["metadata"]["name"] for item in gone["items"]]) == (200, ["c"])


async def test_a_generated_name_stays_the_same_while_webhooks_are_asked(http: Http, hook: Hook) -> None:
    await configure(http, "mutating", hook.webhook("m.example.com", "/m"))
    await configure(http, "validating", hook.webhook("v.example.com", "/v"))
    obj = pod()
    obj["metadata"] = {"generateName": "p-"}
    created = await http.create(PODS, obj)
    assert hook.names == ["m", "v"]
    assert "name" not in hook.asked[0]
    assert "name" not in hook.asked[0]["object"]["metadata"]
    assert hook.asked[1]["object"]["metadata"]["name"] == created["metadata"]["name"]


async def test_a_patch_is_repeated_if_its_object_changes_during_a_webhook(http: Http, hook: Hook) -> None:
    await http.create(PODS, pod())
    await configure(http, "validating", hook.webhook(rule={"operations": ["UPDATE"]}))

    async def meddle(request: dict[str, Any]) -> dict[str, Any]:
        if len(hook.asked) == 1:
            pods = http.server.registry.find("", "v1", "pods")
            assert pods is not None

            def annotate(obj: Any) -> Any:
                obj["metadata"]["annotations"] = {"by": "another"}
                return obj

            http.server.operations.update(pods, "default", "p", annotate)
        return allow()

    hook.decide = meddle
    patched = await http.merge(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    assert len(hook.asked) == 2
    assert patched["metadata"]["annotations"] == {"by": "another"}
    assert patched["metadata"]["labels"] == {"a": "b"}


async def test_an_update_loses_to_one_that_came_while_a_webhook_thought(http: Http, hook: Hook) -> None:
    created = await http.create(PODS, pod())
    await configure(http, "validating", hook.webhook(rule={"operations": ["UPDATE"]}))

    async def remove(request: dict[str, Any]) -> dict[str, Any]:
        await http("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
        return allow()

    hook.decide = remove
    created["metadata"]["labels"] = {"a": "b"}
    assert (await http("PUT", f"{PODS}/p", created))[0] == 404


async def test_a_reinvoked_webhook_is_asked_again_after_others_changed_the_object(http: Http, hook: Hook) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        return add_label("late") if hook.names[-1] == "late" else allow()

    hook.decide = decide
    again = hook.webhook("early.example.com", "/early", reinvocationPolicy="IfNeeded")
    never = hook.webhook("never.example.com", "/never")
    await configure(http, "mutating", again, never, hook.webhook("late.example.com", "/late"))
    await http.create(PODS, pod())
    assert hook.names == ["early", "never", "late", "early"]
    assert hook.asked[-1]["object"]["metadata"]["labels"] == {"late": "x"}


async def test_warnings_reach_the_client_also_when_it_is_refused(http: Http, hook: Hook) -> None:
    await configure(http, "validating", hook.webhook())
    for answer, code in ((allow(warnings=["mind this"]), 201), (deny() | {"warnings": ["mind this"]}, 400)):
        hook.decide = lambda request, answer=answer: answer  # type: ignore[misc]  # of the same type
        async with http.session.post(http.server.url + PODS, json=pod()) as response:
            assert response.status == code
            assert response.headers["Warning"] == '299 - "mind this"'


async def test_a_webhook_that_cannot_be_reached_stops_writes_or_is_ignored(http: Http, hook: Hook) -> None:
    webhook = hook.webhook()
    webhook["clientConfig"]["url"] = "https://127.0.0.1:1/x"
    await configure(http, "validating", webhook)
    code, refusal = await http("POST", PODS, pod())
    told = (
        'failed calling webhook "a.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )
    assert (code, refusal["reason"]) == (500, "InternalError")
    assert refusal["message"] == f"Internal error occurred: {told}"
    assert refusal["details"] == {"causes": [{"message": told}]}
    change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations/c"
    assert (await http("PATCH", path, change, "application/json-patch+json"))[0] == 200
    await http.create(PODS, pod())


class Namesake(Authority):
    """Gives its servers certificates with its own name and no identifier of its key, as Knative's webhooks have."""

    def server_context(self, hosts: tuple[str, ...]) -> ssl.SSLContext:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        issuer = x509.load_pem_x509_certificate(self.certificate).subject
        signing = serialization.load_pem_private_key(self.pair.key, None)
        key = ec.generate_private_key(ec.SECP256R1())
        now, day = datetime.now(UTC), timedelta(days=1)
        builder = x509.CertificateBuilder(issuer, issuer, key.public_key(), 7, now - day, now + day)
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host)) for host in hosts])
        made = builder.add_extension(names, critical=False).sign(signing, hashes.SHA256())  # type: ignore[arg-type]  # EC
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        pem = serialization.Encoding.PEM
        load_identity(context, made.public_bytes(pem) + key.private_bytes(pem, *private))
        return context


async def test_a_webhook_whose_ca_has_the_same_name_is_trusted(http: Http, authority: Authority) -> None:
    async with serve_webhook(Namesake()) as hook:
        await configure(http, "validating", hook.webhook())
        await http.create(PODS, pod())
        hook.bundle = Hook(authority).bundle
        await configure(http, "validating", hook.webhook(), name="strange")
        code, refusal = await http("POST", PODS, pod("q"))

    assert (code, len(hook.asked)) == (500, 2)
    assert refusal["message"].endswith("x509: certificate signed by unknown authority")


async def test_a_slow_webhook_is_called_for_all_requests_at_once(hook: Hook, clock: FakeClock) -> None:
    calls = 101  # aiohttp's own limit is 100 connections
    everybody = anyio.Event()

    async def wait(request: dict[str, Any]) -> dict[str, Any]:
        if len(hook.asked) == calls:
            everybody.set()
        await everybody.wait()
        return allow()

    hook.decide = wait
    caller = Caller(clock, lambda namespace, name, port: (name, port))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(calls):
                body = json.dumps({"request": {"uid": str(number)}}).encode()
                group.start_soon(caller.post, hook.webhook()["clientConfig"], 30, body)
    await caller.close()
    assert len(hook.asked) == calls


async def test_a_webhook_that_takes_too_long_has_failed(http: Http, hook: Hook, clock: FakeClock) -> None:
    await configure(http, "mutating", hook.webhook(timeoutSeconds=2))
    asked = anyio.Event()

    async def wait(request: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        await anyio.sleep_forever()
        return allow()

    hook.decide = wait
    answers: list[Any] = []

    async def post() -> None:
        answers.append(await http("POST", PODS, pod()))

    async with anyio.create_task_group() as group:
        group.start_soon(post)
        await asked.wait()
        await clock.advance(2)
    assert answers[0][0] == 500
    assert answers[0][1]["message"].endswith('/?timeout=2s": context deadline exceeded')


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (allow(uid="another"), 'received invalid webhook response: expected response.uid="'),
        (allow(patch="W10="), "received invalid webhook response: validating webhook may not return response.patch"),
        (web.Response(status=404), "failed to call webhook: the server could not find the requested resource"),
        (
            web.Response(status=500, text="boom"),
            'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
        ),
        (web.Response(text="no json"), "failed to call webhook: couldn't get version/kind; json parse error"),
        (web.json_response({}), "received invalid webhook response: webhook response was absent"),
    ],
)
async def test_what_is_no_verdict_is_a_failure(http: Http, hook: Hook, answer: Any, told: str) -> None:
    await configure(http, "validating", hook.webhook())
    hook.decide = lambda request: answer
    code, refusal = await http("POST", PODS, pod())
    assert code == 500
    assert f'failed calling webhook "a.example.com": {told}' in refusal["message"]


async def test_a_patch_without_its_type_is_a_failure(http: Http, hook: Hook) -> None:
    await configure(http, "mutating", hook.webhook())
    for answer, told in (
        (allow(patch="W10="), "webhook returned response.patch but not response.patchType"),
        (allow(patchType="JSONPatch"), "webhook returned response.patchType but not response.patch"),
        (allow(patch="e30h", patchType="JSONPatch"), "received undecodable patch in webhook response"),
    ):
        hook.decide = lambda request, answer=answer: answer  # type: ignore[misc]  # of the same type
        code, refusal = await http("POST", PODS, pod())
        assert code == 500
        assert told in refusal["message"]


async def test_a_webhook_with_another_authority_is_not_trusted(http: Http, hook: Hook) -> None:
    webhook = hook.webhook()
    del webhook["clientConfig"]["caBundle"]
    await configure(http, "validating", webhook)
    code, refusal = await http("POST", PODS, pod())
    assert code == 500
    assert "tls: failed to verify certificate: x509: certificate signed by unknown authority" in refusal["message"]
    assert hook.asked == []


async def test_a_dry_run_asks_only_who_has_no_side_effects(http: Http, hook: Hook) -> None:
    await configure(http, "validating", hook.webhook(sideEffects="NoneOnDryRun"))
    code, _ = await http("POST", f"{PODS}?dryRun=All", pod())
    assert code == 201
    assert hook.asked[0]["dryRun"] is True
    assert (await http("GET", f"{PODS}/p"))[0] == 404


async def test_what_decides_who_is_asked_is_not_asked_about(http: Http, hook: Hook) -> None:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    hook.decide = lambda request: deny()
    await configure(http, "validating", hook.webhook(rule=rule))
    assert (await http("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}))[0] == 400
    assert (hook.asked[0]["name"], hook.asked[0]["namespace"]) == ("n", "n")
    assert (await http("DELETE", f"{CONFIGURATIONS}/validatingwebhookconfigurations/c"))[0] == 200
    await http.create("/api/v1/namespaces", {"metadata": {"name": "n"}})


async def test_a_webhook_sees_other_versions_of_what_it_asked_for(http: Http, hook: Hook) -> None:
    rule = {"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["horizontalpodautoscalers"]}
    await configure(
        http, "validating", hook.webhook("e.example.com", "/equivalent", rule=rule),
        hook.webhook("x.example.com", "/exact", rule=rule, matchPolicy="Exact"),
    )  # fmt: skip
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    await http.create(path, {"metadata": {"name": "h"}, "spec": spec})
    assert hook.names == ["equivalent"]
    assert hook.asked[0]["kind"]["version"] == "v1"
    assert hook.asked[0]["requestKind"]["version"] == "v2"
    assert hook.asked[0]["object"]["apiVersion"] == "autoscaling/v1"


async def test_a_service_is_found_by_who_knows_where_it_is(authority: Authority) -> None:
    async with serve_webhook(authority, "hook.default.svc") as hook:

        def resolve(namespace: str, name: str, port: int) -> tuple[str, int]:
            assert (namespace, port) == ("default", 8443)
            if name != "hook":
                raise LookupError(f'service "{name}" not found')
            return "127.0.0.1", hook.port

        async with ApiServer(plugins=False, resolve_service=resolve, token="t") as server, client_of("t") as session:
            http = Http(server, session)
            webhook = hook.webhook()
            service = {"namespace": "default", "name": "hook", "port": 8443, "path": "/validate"}
            webhook["clientConfig"] = {"service": service, "caBundle": hook.bundle}
            await configure(http, "validating", webhook)
            await http.create(PODS, pod())
            assert hook.names == ["validate"]
            webhook["clientConfig"]["service"]["name"] = "other"
            await configure(http, "validating", webhook, name="d")
            code, refusal = await http("POST", PODS, pod("q"))
            assert code == 500
            url = "https://other.default.svc:8443/validate?timeout=10s"
            assert f'Post "{url}": service "other" not found' in refusal["message"]


async def test_configurations_get_defaults_and_wrong_ones_are_refused(http: Http, hook: Hook) -> None:
    created = await configure(http, "mutating", hook.webhook())
    webhook = created["webhooks"][0]
    assert created["metadata"]["generation"] == 1
    assert (webhook["failurePolicy"], webhook["matchPolicy"], webhook["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (webhook["reinvocationPolicy"], webhook["rules"][0]["scope"]) == ("Never", "*")
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations"
    wrong = [
        ({"name": "short"}, "should be a domain with at least three segments separated by dots"),
        ({"timeoutSeconds": 31}, "the timeout value must be between 1 and 30 seconds"),
        ({"sideEffects": "Some"}, 'supported values: "None", "NoneOnDryRun"'),
        ({"clientConfig": {"url": "http://a/b"}}, "'https' is the only allowed URL scheme"),
        ({"clientConfig": {}}, "exactly one of url or service is required"),
        ({"admissionReviewVersions": ["v9"]}, "must include at least one of v1, v1beta1"),
        ({"matchConditions": [{"expression": "true"}]}, "webhooks[0].matchConditions[0].name: Required value"),
    ]
    for fields, told in wrong:
        body = {"metadata": {"name": "w"}, "webhooks": [{**hook.webhook(), **fields}]}
        code, refusal = await http("POST", path, body)
        assert code == 422, refusal
        assert told in refusal["message"]


async def test_conditions_keep_a_webhook_from_being_asked(http: Http, hook: Hook) -> None:
    pytest.importorskip("cel_expr_python", reason="conditions need the extra `cel`")
    conditions = [
        {"name": "named", "expression": "object.metadata.name.startsWith('a')"},
        {"name": "not-ours", "expression": "request.userInfo.username != 'somebody'"},
    ]
    await configure(http, "validating", hook.webhook(matchConditions=conditions))
    await http.create(PODS, pod("b"))
    assert hook.asked == []
    await http.create(PODS, pod("a"))
    assert len(hook.asked) == 1


async def test_a_condition_without_a_value_counts_as_a_failure_does(http: Http, hook: Hook) -> None:
    pytest.importorskip("cel_expr_python", reason="conditions need the extra `cel`")
    conditions = [{"name": "labelled", "expression": "object.metadata.labels['a'] == 'b'"}]
    await configure(http, "mutating", hook.webhook(matchConditions=conditions))
    code, refusal = await http("POST", PODS, pod())
    text = "expression 'object.metadata.labels['a'] == 'b'' resulted in error: no such key: labels"
    assert (code, refusal["message"]) == (403, f'pods "p" is forbidden: {text}')
    path = f"{CONFIGURATIONS}/mutatingwebhookconfigurations/c"
    webhook = {**hook.webhook(matchConditions=conditions), "failurePolicy": "Ignore"}
    await http.merge(path, {"webhooks": [webhook]})
    await http.create(PODS, pod())
    assert hook.asked == []


async def test_without_the_extra_a_webhook_with_conditions_is_refused_by_its_name(
    http: Http, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.envtest.strategy.webhooks.is_available", lambda: False)
    webhook = hook.webhook(matchConditions=[{"name": "a", "expression": "true"}])
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations"
    code, refusal = await http("POST", path, {"metadata": {"name": "w"}, "webhooks": [webhook]})
    assert (code, "pip install 'kinformer[cel]'" in refusal["message"]) == (422, True)


async def test_an_answer_that_is_nested_too_deeply_goes_through_the_failure_policy(http: Http, hook: Hook) -> None:
    deep = b'{"response": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    hook.decide = lambda request: web.Response(body=deep, content_type="application/json")
    await configure(http, "validating", hook.webhook())

    code, refused = await http("POST", PODS, pod())
    assert (code, refused["reason"]) == (500, "InternalError")
    assert "failed calling webhook" in refused["message"]

    change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations/c"
    assert (await http("PATCH", path, change, "application/json-patch+json"))[0] == 200
    await http.create(PODS, pod())
