from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kinformer.models import V1ConfigMap, V2HorizontalPodAutoscaler
from kinformer.operator import CustomResource
from kinformer.operator.webhooks import AdmissionRequest, BadReview, Denied, Webhooks
from kinformer.operator.webhooks.reviews import denied, read_admission, read_conversion, read_timeout
from tests.operator.web_apps import OldWebApp, WebApp, WebAppSpec, WebAppStatus

VALIDATE, MUTATE = "/validate-example-com-v1-webapp", "/mutate-example-com-v1-webapp"


class OldestWebApp(
    CustomResource[WebAppSpec, WebAppStatus], group="example.com", version="v1alpha1", plural="webapps", kind="WebApp"
):
    pass


def app(version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "WebApp",
        "metadata": {"name": "shop", "namespace": "default", "uid": "u", "labels": {"a": "b"}},
        "spec": {"image": "shop:1", **spec},
    }


def review(obj: dict[str, Any] | None = None, **more: Any) -> bytes:
    request = {"uid": "r", "operation": "CREATE", "namespace": "default", "name": "shop", "object": obj, **more}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


async def asked(webhooks: Webhooks, path: str, body: bytes) -> dict[str, Any]:
    answer = json.loads(await webhooks.answer_admission(path, read_admission(body)))
    response: dict[str, Any] = answer["response"]
    assert response.pop("uid") == "r"
    return response


def patch_of(response: dict[str, Any]) -> Any:
    assert response["patchType"] == "JSONPatch"
    return json.loads(base64.b64decode(response["patch"]))


async def test_what_a_function_lets_through_is_allowed_with_its_warnings() -> None:
    webhooks, seen = Webhooks("w"), []

    @webhooks.validating(WebApp)
    async def check(request: AdmissionRequest[WebApp]) -> None:
        seen.append((request.object.spec.replicas, request.old, request.operation, request.user.username))
        request.warn("that is few")

    body = review(app(replicas=3), userInfo={"username": "me", "groups": ["g"]})

    assert await asked(webhooks, VALIDATE, body) == {"allowed": True, "warnings": ["that is few"]}
    assert seen == [(3, None, "CREATE", "me")]


@pytest.mark.parametrize(
    ("code", "given", "reason"),
    [(422, "", "Invalid"), (422, "Expired", "Expired"), (403, "", "Forbidden"), (404, "", "NotFound"), (418, "", "")],
)
async def test_what_it_refuses_is_refused_with_its_words(code: int, given: str, reason: str) -> None:
    webhooks = Webhooks("w")

    @webhooks.validating(WebApp)
    def check(request: AdmissionRequest[WebApp]) -> None:
        raise Denied("spec.replicas: at most 10", code=code, reason=given)

    assert await asked(webhooks, VALIDATE, review(app())) == {
        "allowed": False,
        "status": {"status": "Failure", "code": code, "reason": reason, "message": "spec.replicas: at most 10"},
    }


def test_a_refusal_may_say_when_to_ask_again() -> None:
    status = json.loads(denied("r", 429, "TooManyRequests", "later", retry_after=3))["response"]["status"]

    assert (status["code"], status["details"]) == (429, {"retryAfterSeconds": 3})


async def test_an_update_shows_the_object_before_and_a_deletion_what_is_deleted() -> None:
    webhooks, seen = Webhooks("w"), []

    @webhooks.validating(WebApp, operations=("UPDATE", "DELETE"))
    def check(request: AdmissionRequest[WebApp]) -> None:
        seen.append((request.object.spec.replicas, request.old.spec.replicas if request.old else None))

    await asked(webhooks, VALIDATE, review(app(replicas=3), oldObject=app(replicas=2), operation="UPDATE"))
    await asked(webhooks, VALIDATE, review(None, oldObject=app(replicas=2), operation="DELETE"))

    assert seen == [(3, 2), (2, 2)]


async def test_what_a_function_returns_becomes_a_patch_that_leaves_unknown_fields_alone() -> None:
    webhooks = Webhooks("w")

    @webhooks.mutating(WebApp)
    def fill_in(request: AdmissionRequest[WebApp]) -> WebApp:
        request.object.spec.replicas = 5
        request.object.metadata.labels = {**(request.object.metadata.labels or {}), "checked": "yes"}
        return request.object

    response = await asked(webhooks, MUTATE, review(app(unknown={"x": 1}, replicas=2)))

    assert patch_of(response) == [
        {"op": "add", "path": "/metadata/labels/checked", "value": "yes"},
        {"op": "replace", "path": "/spec/replicas", "value": 5},
    ]


async def test_a_function_that_returns_nothing_changes_nothing() -> None:
    webhooks = Webhooks("w")

    @webhooks.mutating(WebApp)
    def look(request: AdmissionRequest[WebApp]) -> None:
        request.object.spec.replicas = 5

    assert await asked(webhooks, MUTATE, review(app())) == {"allowed": True}


async def test_an_unfitting_object_is_an_error_with_the_path() -> None:
    webhooks = Webhooks("w")

    @webhooks.validating(WebApp)
    def check(request: AdmissionRequest[WebApp]) -> None:
        raise AssertionError("it is not asked")

    with pytest.raises(BadReview, match=r"spec\.replicas"):
        await asked(webhooks, VALIDATE, review(app(replicas="many")))


async def test_what_else_a_function_raises_comes_out() -> None:
    webhooks = Webhooks("w")

    @webhooks.validating(WebApp)
    def check(request: AdmissionRequest[WebApp]) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await asked(webhooks, VALIDATE, review(app()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"operations": ("WRITE",)}, "'WRITE' is not an operation: want some of"),
        ({"failure_policy": "Maybe"}, "failure_policy is 'Maybe': want Fail or Ignore"),
        ({"side_effects": "Some"}, "side_effects is 'Some': want None or NoneOnDryRun"),
        ({"object_selector": "a b"}, "object_selector is 'a b': "),
        ({"namespace_selector": "age>3"}, "'gt' is not an operator of selectors of objects"),
        ({"reinvocation": "IfNeeded"}, "reinvocation is only for mutating webhooks"),
        ({"timeout": 60}, "the timeout is 60 s: want 1 to 30"),
        ({"path": "/taken"}, "there is a webhook at /taken already"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_said_wrongly_is_an_error_at_once(options: dict[str, Any], said: str) -> None:
    webhooks = Webhooks("w")
    webhooks.validating(V1ConfigMap, path="/taken")(lambda request: None)

    with pytest.raises(ValueError, match=said):
        webhooks.validating(WebApp, **options)


async def test_a_function_without_a_manager_has_no_context() -> None:
    webhooks = Webhooks("w")
    webhooks.validating(WebApp)(lambda request: request.context)

    with pytest.raises(RuntimeError, match="let a manager serve it"):
        await asked(webhooks, VALIDATE, review(app()))


# -- conversion


def conversions() -> Webhooks:
    webhooks = Webhooks("w")

    @webhooks.converting(OldWebApp, WebApp)
    def up(old: OldWebApp) -> WebApp:
        metadata = old.metadata
        metadata.labels = {**(metadata.labels or {}), "was": "old"}
        metadata.name = "not to be changed"
        return WebApp(metadata=metadata, spec=WebAppSpec(image=old.spec.image, replicas=old.spec.replicas + 1))

    @webhooks.converting(WebApp, OldWebApp)
    def down(new: WebApp) -> OldWebApp:
        return OldWebApp(metadata=new.metadata, spec=new.spec)

    @webhooks.converting(OldestWebApp, OldWebApp)
    def from_oldest(oldest: OldestWebApp) -> OldWebApp:
        return OldWebApp(metadata=oldest.metadata, spec=oldest.spec)

    return webhooks


def convert(webhooks: Webhooks, desired: str, *objects: dict[str, Any]) -> dict[str, Any]:
    request = {"uid": "r", "desiredAPIVersion": f"example.com/{desired}", "objects": objects}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    answer = json.loads(webhooks.answer_conversion(read_conversion(json.dumps(body).encode())))
    response: dict[str, Any] = answer["response"]
    return response


def test_objects_are_converted_and_keep_their_metadata_but_for_labels() -> None:
    response = convert(conversions(), "v1", app("v1beta1", replicas=2), app("v1"))

    assert response["result"] == {"status": "Success"}
    converted, same = response["convertedObjects"]
    assert (converted["apiVersion"], converted["spec"]["replicas"]) == ("example.com/v1", 3)
    assert converted["metadata"] == {**app()["metadata"], "labels": {"a": "b", "was": "old"}}
    assert same == app("v1")


def test_a_version_without_a_function_of_its_own_is_reached_over_others() -> None:
    (converted,) = convert(conversions(), "v1", app("v1alpha1", replicas=2))["convertedObjects"]

    assert (converted["apiVersion"], converted["spec"]["replicas"]) == ("example.com/v1", 3)


@pytest.mark.parametrize(
    ("desired", "obj", "said"),
    [
        ("v9", app("v1"), "there is no conversion of WebApp from example.com/v1beta1 to example.com/v9"),
        ("v1", app("v0"), "there is no conversion of WebApp of example.com/v0"),
        ("v1", app("v1beta1", replicas="x"), "spec.replicas"),
    ],
    ids=["to nowhere", "from nowhere", "does not fit"],
)
def test_what_cannot_be_converted_is_told(desired: str, obj: dict[str, Any], said: str) -> None:
    response = convert(conversions(), desired, app("v1beta1"), obj)

    assert response["result"]["status"] == "Failure"
    assert said in response["result"]["message"]
    assert "convertedObjects" not in response


@pytest.mark.parametrize("other", [V1ConfigMap, V2HorizontalPodAutoscaler, WebApp])
def test_only_versions_of_one_kind_can_be_converted(other: type[Any]) -> None:
    with pytest.raises(ValueError, match="want two versions of one kind"):
        Webhooks("w").converting(WebApp, other)


# -- reviews


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not an AdmissionReview"),
        (b"\xff", "not UTF-8"),
        (b"[]", "not an AdmissionReview"),
        (b"{}", "nothing of no apiVersion: want an AdmissionReview of admission.k8s.io/v1"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}',
            r"AdmissionReview of admission\.k8s\.io/v1beta1: want",
        ),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "the AdmissionReview has no request"),
        (b"[" * 100_000, "nested too deeply|not an AdmissionReview"),
    ],
    ids=["nothing", "bytes", "a list", "an object", "an old version", "no request", "brackets"],
)
def test_a_body_that_is_no_review_is_an_error_that_says_so(body: bytes, said: str) -> None:
    with pytest.raises(BadReview, match=said):
        read_admission(body)


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5.0), ("0.5s", 0.5), ("", 10.0), ("soon", 10.0), ("-1s", 10.0), ("600s", 30.0)]
)
def test_an_api_servers_waiting_time_is_believed_up_to_30_seconds(text: str, seconds: float) -> None:
    assert read_timeout(text, 10.0) == seconds
