"""Whom credentials and headers say that a request comes from."""

from __future__ import annotations

import base64
import json
from typing import Any

import aiohttp
import pytest

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, ServerError
from tests.envtest.access.conftest import ACCOUNTS, ROLES, bind, bind_cluster_role
from tests.envtest.conftest import Http

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCOUNT = "system:serviceaccount:default:reader"


async def who(http: Http, **headers: str) -> dict[str, Any]:
    code, review = await http("POST", WHO, {}, **headers)
    assert code == 201, review
    return dict(review["status"]["userInfo"])


async def is_let_in(http: Http, headers: dict[str, str]) -> bool:
    code, _ = await http("POST", WHO, {}, **headers)
    _, review = await http("POST", TOKEN_REVIEWS, {"spec": {"token": headers["Authorization"].removeprefix("Bearer ")}})
    assert review["status"].get("authenticated", False) == (code == 201)
    return code == 201


async def test_a_service_accounts_token_holds_until_it_expires(
    http: Http, account: dict[str, str], clock: FakeClock
) -> None:
    clock.turn(599)
    assert await is_let_in(http, account)
    clock.turn(2)
    assert not await is_let_in(http, account)


async def test_a_service_accounts_token_ends_with_its_account(http: Http, account: dict[str, str]) -> None:
    await http("DELETE", f"{ACCOUNTS}/reader")
    assert not await is_let_in(http, account)
    await http.create(ACCOUNTS, {"metadata": {"name": "reader"}})
    assert not await is_let_in(http, account)


async def test_a_service_accounts_token_says_who_it_is(http: Http, account: dict[str, str]) -> None:
    user = await who(http, **account)
    stored = await http.get(f"{ACCOUNTS}/reader")
    assert (user["username"], user["uid"]) == (ACCOUNT, stored["metadata"]["uid"])
    assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert list(user["extra"]) == ["authentication.kubernetes.io/credential-id"]


async def test_an_auth_delegator_may_ask_whose_a_token_is(http: Http, account: dict[str, str]) -> None:
    review = {"spec": {"token": account["Authorization"].removeprefix("Bearer ")}}
    assert (await http("POST", TOKEN_REVIEWS, review, **account))[0] == 403
    await bind_cluster_role(http, "system:auth-delegator")
    _, answered = await http("POST", TOKEN_REVIEWS, review, **account)
    assert answered["status"]["user"]["username"] == ACCOUNT


async def test_a_token_that_somebody_else_made_is_none(http: Http, account: dict[str, str]) -> None:
    token = account["Authorization"].removeprefix("Bearer ")
    head, claims, signature = token.split(".")
    forged = json.loads(base64.urlsafe_b64decode(claims + "==")) | {"exp": 1 << 40}
    other = base64.urlsafe_b64encode(json.dumps(forged).encode()).rstrip(b"=").decode()
    for bad in (
        f"{head}.{other}.{signature}",
        f"{head}.{claims}.",
        f"{head}.{claims}",
        ".",
        "..",
        "\u00e9",
        token[:-1],
    ):
        assert not await is_let_in(http, {"Authorization": f"Bearer {bad}"})


async def test_tokens_outlive_a_restart_as_their_accounts_do(http: Http, account: dict[str, str]) -> None:
    await http.server.restart()
    assert await is_let_in(http, account)


@pytest.mark.parametrize("token", ["", " "])
def test_an_empty_token_is_refused(token: str) -> None:
    with pytest.raises(ServerError, match="the token is empty"):
        ApiServer(token=token)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic x"])
async def test_nobody_is_let_in_without_a_token(server: ApiServer, header: str) -> None:
    headers = {"Authorization": header}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{server.url}/api/v1/pods") as response:
        assert response.status == 401


@pytest.mark.parametrize("path", ["/version", "/readyz"])
async def test_an_invalid_token_is_refused_where_none_is_needed(server: ApiServer, path: str) -> None:
    async with aiohttp.ClientSession() as session:
        for headers, code in (({}, 200), ({"Authorization": "Bearer wrong"}, 401)):
            async with session.get(f"{server.url}{path}", headers=headers) as response:
                assert response.status == code


# -- impersonation --------------------------------------------------------------------------------------------------


async def test_who_may_do_everything_may_be_anybody(http: Http) -> None:
    user = await who(http, **{"Impersonate-User": "jane", "Impersonate-Group": "devs", "Impersonate-Uid": "7"})
    assert user == {"username": "jane", "uid": "7", "groups": ["devs", "system:authenticated"]}
    user = await who(http, **{"Impersonate-User": "jane", "Impersonate-Extra-A%2fb": "c"})
    assert (user["groups"], user["extra"]) == (["system:authenticated"], {"a/b": ["c"]})
    user = await who(http, **{"Impersonate-User": ACCOUNT})
    assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]


async def test_who_is_taken_for_another_may_do_what_that_one_may(http: Http) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    assert (await http("GET", path, **{"Impersonate-User": "nobody"}))[0] == 403
    masters = {"Impersonate-User": "nobody", "Impersonate-Group": "system:masters"}
    assert (await http("GET", path, **masters))[0] == 200
    assert (await http("POST", "/kinformer/compact", **{"Impersonate-User": "nobody"}))[0] == 401


async def test_each_part_of_another_user_has_to_be_allowed(http: Http, account: dict[str, str]) -> None:
    rules = [
        {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["jane"]},
        {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["groups"], "resourceNames": ["devs"]},
        {"verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"], "resources": ["userextras/a"]},
    ]
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "other"}, "rules": rules})
    await bind_cluster_role(http, "other")
    allowed = {"Impersonate-User": "jane", "Impersonate-Group": "devs", "Impersonate-Extra-A": "1", **account}
    assert (await who(http, **allowed))["username"] == "jane"
    for more in (
        {"Impersonate-User": "joe"},
        {"Impersonate-Group": "system:masters"},
        {"Impersonate-Uid": "7"},
        {"Impersonate-Extra-B": "1"},
        {"Impersonate-User": ACCOUNT},
    ):
        code, refused = await http("POST", WHO, {}, **{**allowed, **more})
        assert (code, "cannot impersonate resource" in refused["message"]) == (403, True), more


async def test_a_service_account_is_impersonated_where_it_lives(http: Http, account: dict[str, str]) -> None:
    await bind(http, {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]})
    assert (await http("POST", WHO, {}, **account, **{"Impersonate-User": "system:serviceaccount:default:x"}))[0] == 201
    assert (await http("POST", WHO, {}, **account, **{"Impersonate-User": "system:serviceaccount:other:x"}))[0] == 403


async def test_a_group_without_a_user_is_a_mistake(http: Http) -> None:
    code, refused = await http("POST", WHO, {}, **{"Impersonate-Group": "devs"})
    assert (code, "without impersonating a user" in refused["message"]) == (400, True)
