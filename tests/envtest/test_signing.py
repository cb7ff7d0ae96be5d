"""Certificate signing requests: what the server writes of who asks, and what each subresource may change."""

from __future__ import annotations

from typing import Any

from kinformer.clock import FakeClock
from tests.envtest.conftest import Http

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ASKED = {"request": "aGk=", "signerName": "a.b/c", "usages": ["client auth"]}
APPROVED = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}


async def ask(http: Http, **spec: Any) -> dict[str, Any]:
    return dict(await http.create(REQUESTS, {"metadata": {"name": "x"}, "spec": {**ASKED, **spec}}))


async def test_a_request_says_who_asks_whatever_it_was_sent_with(http: Http) -> None:
    body = {"metadata": {"name": "x"}, "spec": {**ASKED, "username": "other", "uid": "u", "groups": ["g"]}}
    jane = {"Impersonate-User": "jane", "Impersonate-Group": "system:masters", "Impersonate-Uid": "7"}

    code, created = await http("POST", REQUESTS, body, **jane, **{"Impersonate-Extra-A": "b"})

    assert code == 201
    who = {"username": "jane", "uid": "7", "groups": ["system:masters", "system:authenticated"], "extra": {"a": ["b"]}}
    assert {name: created["spec"][name] for name in who} == who
    changed = await http.merge(f"{REQUESTS}/x", {"spec": {"username": "other"}, "metadata": {"labels": {"a": "b"}}})
    assert changed["spec"] == created["spec"]


async def test_who_has_no_uid_and_nothing_extra_leaves_neither(http: Http) -> None:
    created = await ask(http, uid="u", extra={"a": ["b"]})
    assert (created["spec"]["username"], {"uid", "extra"}.isdisjoint(created["spec"])) == ("kubernetes-admin", True)


async def test_an_approval_changes_conditions_alone_and_says_when(http: Http, clock: FakeClock) -> None:
    created = await ask(http)
    body = {**created, "spec": {**ASKED, "usages": []}, "status": {"conditions": [APPROVED], "certificate": "aGk="}}

    code, approved = await http("PUT", f"{REQUESTS}/x/approval", body)

    assert code == 200, approved
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert approved["status"] == {"conditions": [{**APPROVED, "lastUpdateTime": now, "lastTransitionTime": now}]}
    assert approved["spec"] == created["spec"]


async def test_who_signs_leaves_the_approval_as_it_was(http: Http, clock: FakeClock) -> None:
    await ask(http)
    approved = await http.merge(f"{REQUESTS}/x/approval", {"status": {"conditions": [APPROVED]}})
    clock.turn(60)

    conditions = [{**APPROVED, "message": "other"}]
    change = {"status": {"conditions": conditions, "certificate": "aGk="}}
    signed = await http.merge(f"{REQUESTS}/x/status", change)

    assert signed["status"] == {**approved["status"], "certificate": "aGk="}


async def test_the_server_says_since_when_it_tracks_old_tokens(http: Http, clock: FakeClock) -> None:
    assert (await http.get("/api/v1/configmaps"))["items"] == []  # nobody has looked for it
    name = "kube-apiserver-legacy-service-account-token-tracking"
    found = await http.get(f"/api/v1/namespaces/kube-system/configmaps/{name}")
    assert found["data"] == {"since": clock.now().strftime("%Y-%m-%d")}
