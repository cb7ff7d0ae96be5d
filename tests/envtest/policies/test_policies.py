from __future__ import annotations

import io
import json
from typing import Any

import pytest

from kinformer.envtest import ApiServer
from kinformer.envtest.access import Authorizer
from kinformer.envtest.admission import Attributes, User
from kinformer.envtest.policies.conditions import Subject
from kinformer.expressions.library import read_opaque
from tests.envtest.conftest import Http

pytest.importorskip("cel_expr_python", reason="policies need the extra `cel`")

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


def policy(*validations: dict[str, Any], rule: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    constraints = {"resourceRules": [{**RULE, **(rule or {})}], **spec.pop("constraints", {})}
    return {"metadata": {"name": "p"}, "spec": {"matchConstraints": constraints, "validations": validations, **spec}}


def binding(*actions: str, name: str = "b", **spec: Any) -> dict[str, Any]:
    said = {"policyName": "p", "validationActions": list(actions or ("Deny",)), **spec}
    return {"metadata": {"name": name}, "spec": said}


async def enforce(http: Http, body: dict[str, Any], *bindings: dict[str, Any]) -> None:
    await http.create(POLICIES, body)
    for one in bindings or (binding(),):
        await http.create(BINDINGS, one)


def config(name: str = "c", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


async def test_what_a_policy_is_against_is_refused(http: Http) -> None:
    await enforce(http, policy({"expression": "object.data.size == 'small'"}))
    code, refusal = await http("POST", MAPS, config(size="big"))
    text = (
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.data.size == 'small'"
    )
    assert (code, refusal["reason"]) == (422, "Invalid")
    assert refusal["message"] == f'configmaps "c" is forbidden: {text}'
    assert refusal["details"] == {"name": "c", "kind": "configmaps", "causes": [{"message": text}]}
    await http.create(MAPS, config(size="small"))


async def test_a_policy_that_nothing_binds_has_no_say(http: Http) -> None:
    await http.create(POLICIES, policy({"expression": "false"}))
    await http.create(MAPS, config())


async def test_a_policy_says_why_and_with_which_reason(http: Http) -> None:
    told = {"expression": "false", "messageExpression": "'not ' + object.metadata.name", "reason": "Forbidden"}
    await enforce(http, policy(told))
    code, refusal = await http("POST", MAPS, config())
    assert (code, refusal["reason"]) == (403, "Forbidden")
    assert refusal["message"].endswith("denied request: not c")


async def test_a_message_that_cannot_be_made_is_the_one_that_was_written(http: Http) -> None:
    await enforce(
        http, policy({"expression": "false", "messageExpression": "string(object.data.none)", "message": " no "})
    )
    assert (await http("POST", MAPS, config()))[1]["message"].endswith("denied request: no")


async def test_a_binding_may_only_warn(http: Http) -> None:
    await enforce(http, policy({"expression": "false", "message": "no"}), binding("Warn", "Audit"))
    body = io.BytesIO(json.dumps(config()).encode())
    headers = {"Content-Type": "application/json"}
    async with http.session.post(http.server.url + MAPS, data=body, headers=headers) as response:
        assert response.status == 201
        assert response.headers["Warning"] == (
            "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no\""
        )


async def test_an_expression_without_a_value_counts_as_the_policy_says(http: Http) -> None:
    await enforce(http, policy({"expression": "object.data.size == 'small'"}))
    text = "expression 'object.data.size == 'small'' resulted in error: no such key: data"
    code, refusal = await http("POST", MAPS, {"metadata": {"name": "c"}})
    assert (code, refusal["message"].endswith(f"denied request: {text}")) == (422, True)
    await http.merge(f"{POLICIES}/p", {"spec": {"failurePolicy": "Ignore"}})
    await http.create(MAPS, {"metadata": {"name": "c"}})


async def test_conditions_say_which_writes_a_policy_is_about(http: Http) -> None:
    conditions = [{"name": "ours", "expression": "request.userInfo.username == 'somebody'"}]
    await enforce(http, policy({"expression": "false"}, matchConditions=conditions))
    await http.create(MAPS, config())
    await http.merge(f"{POLICIES}/p", {"spec": {"matchConditions": [{"name": "a", "expression": "object.none == 1"}]}})
    message = (await http("POST", MAPS, config("d")))[1]["message"]
    assert message.endswith("expression 'object.none == 1' resulted in error: no such key: none")


async def test_variables_are_worked_out_when_they_are_named(http: Http) -> None:
    variables = [
        {"name": "size", "expression": "object.data.size"},
        {"name": "big", "expression": "variables.size == 'big'"},
        {"name": "broken", "expression": "object.data.none"},
    ]
    await enforce(http, policy({"expression": "!variables.big"}, variables=variables))
    assert (await http("POST", MAPS, config(size="big")))[0] == 422
    await http.create(MAPS, config(size="small"))
    await http.merge(f"{POLICIES}/p", {"spec": {"validations": [{"expression": "variables.broken == 'a'"}]}})
    message = (await http("POST", MAPS, config("d")))[1]["message"]
    assert 'composited variable "broken" fails to evaluate: no such key: ' in message


async def test_parameters_are_objects_that_a_binding_names(http: Http) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"name": "limit", "namespace": "default", "parameterNotFoundAction": "Deny"}
    rule = {"resources": ["secrets"]}
    secrets = "/api/v1/namespaces/default/secrets"
    await enforce(
        http,
        policy({"expression": "object.type == params.data.type"}, paramKind=kind, rule=rule),
        binding(paramRef=reference),
    )
    code, refusal = await http("POST", secrets, {"metadata": {"name": "s"}})
    text = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert (code, refusal["message"].endswith(f"with binding 'b' denied request: {text}")) == (422, True)
    await http.create(MAPS, config("limit", type="other"))
    assert (await http("POST", secrets, {"metadata": {"name": "s"}}))[0] == 422
    await http.merge(f"{MAPS}/limit", {"data": {"type": "Opaque"}})
    await http.create(secrets, {"metadata": {"name": "s"}})


async def test_every_parameter_that_a_binding_selects_counts(http: Http) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Allow"}
    rule = {"resources": ["secrets"]}
    secrets = "/api/v1/namespaces/default/secrets"
    validation = {"expression": "object.metadata.name != params.data.name", "messageExpression": "params.data.name"}
    # What a message may name are parameters only where conditions may: the API checks them so.
    validation = {"expression": validation["expression"]}
    await enforce(http, policy(validation, paramKind=kind, rule=rule), binding(paramRef=reference))
    await http.create(secrets, {"metadata": {"name": "a"}})
    for name in ("a", "b"):
        labelled = {"name": name, "labels": {"limit": "yes"}}
        await http.create(MAPS, {"metadata": labelled, "data": {"name": f"not-{name}"}})
    assert [(await http("POST", secrets, {"metadata": {"name": f"not-{name}"}}))[0] for name in "abc"] == [
        422,
        422,
        201,
    ]


async def test_the_namespace_and_the_authorizer_are_there_to_be_asked(http: Http) -> None:
    await http.merge("/api/v1/namespaces/default", {"metadata": {"labels": {"env": "prod"}}})
    await enforce(
        http,
        policy(
            {"expression": "namespaceObject.metadata.labels['env'] == 'prod'"},
            {"expression": "authorizer.requestResource.check('create').allowed()"},
            {"expression": "authorizer.serviceAccount('x', 'y').group('').resource('pods').check('get').allowed()"},
        ),
    )
    message = (await http("POST", MAPS, config()))[1]["message"]
    assert "failed expression: authorizer.serviceAccount" in message


async def test_a_binding_says_where_its_policy_applies(http: Http) -> None:
    selector = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
    await enforce(http, policy({"expression": "false"}), binding(matchResources=selector))
    await http.create(MAPS, config())
    await http.merge("/api/v1/namespaces/default", {"metadata": {"labels": {"env": "prod"}}})
    assert (await http("POST", MAPS, config("d")))[0] == 422


async def test_rules_may_name_objects_and_leave_some_out(http: Http) -> None:
    excluded = {"excludeResourceRules": [{**RULE, "resourceNames": ["free"]}]}
    await enforce(http, policy({"expression": "false"}, constraints=excluded))
    assert (await http("POST", MAPS, config()))[0] == 422
    await http.create(MAPS, config("free"))


async def test_deletes_are_looked_at_with_the_object_that_goes(http: Http) -> None:
    await http.create(MAPS, config(keep="yes"))
    await enforce(http, policy({"expression": "object != null || oldObject.data.keep != 'yes'"}))
    code, refusal = await http("DELETE", f"{MAPS}/c")
    assert (code, "ValidatingAdmissionPolicy 'p'" in refusal["message"]) == (422, True)


async def test_a_scale_is_looked_at_as_a_scale(http: Http) -> None:
    rule = {"apiGroups": ["apps"], "resources": ["deployments/scale"]}
    labels = {"app": "a"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    path = "/apis/apps/v1/namespaces/default/deployments"
    await http.create(path, {"metadata": {"name": "d"}, "spec": spec})
    await enforce(http, policy({"expression": "object.spec.replicas < 3"}, rule=rule))
    await http.merge(f"{path}/d/scale", {"spec": {"replicas": 2}})
    patched = await http("PATCH", f"{path}/d/scale", {"spec": {"replicas": 3}}, "application/merge-patch+json")
    assert patched[0] == 422


async def test_policies_say_nothing_about_policies(http: Http) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    await enforce(http, policy({"expression": "false"}, rule=rule))
    assert (await http("DELETE", f"{BINDINGS}/b"))[0] == 200
    await http.create(MAPS, config())


@pytest.mark.parametrize(
    ("spec", "field", "told"),
    [
        ({"validations": [{"expression": "object.x +"}]}, "validations[0].expression", "compilation failed: ERROR: "),
        ({"validations": [{"expression": "1"}]}, "validations[0].expression", "must evaluate to bool but got int"),
        (
            {"validations": [{"expression": "object.ok"}]},
            "validations[0].expression",
            "must evaluate to bool but got dyn",
        ),
        ({"validations": []}, "validations", "validations or auditAnnotations must contain at least one item"),
        ({"failurePolicy": "Maybe"}, "failurePolicy", 'Unsupported value: "Maybe": supported values: "Fail", "Ignore"'),
        ({"variables": [{"name": "for", "expression": "1"}]}, "variables[0].name", "must be a valid CEL identifier"),
        (
            {"matchConditions": [{"name": "a", "expression": "params.x"}]},
            "matchConditions[0].expression",
            "undeclared reference to 'params'",
        ),
        ({"paramKind": {"kind": "X"}}, "paramKind.apiVersion", "Required value"),
    ],
)
async def test_a_policy_that_cannot_work_is_refused(http: Http, spec: dict[str, Any], field: str, told: str) -> None:
    body = policy({"expression": "true"})
    body["spec"] |= spec
    code, refusal = await http("POST", POLICIES, body)
    assert (code, refusal["reason"]) == (422, "Invalid")
    causes = {cause["field"]: cause["message"] for cause in refusal["details"]["causes"]}
    assert told in causes[f"spec.{field}"]


async def test_a_binding_does_not_refuse_and_warn_at_once(http: Http) -> None:
    code, refusal = await http("POST", BINDINGS, binding("Deny", "Warn"))
    assert (code, "must not contain both Deny and Warn" in refusal["message"]) == (422, True)


async def test_without_the_extra_a_policy_is_refused_by_its_name(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinformer.envtest.strategy.policies.is_available", lambda: False)
    code, refusal = await http("POST", POLICIES, policy({"expression": "true"}))
    assert (code, "pip install 'kinformer[cel]'" in refusal["message"]) == (422, True)


async def test_a_namespace_is_its_own_namespace_in_a_request(http: Http) -> None:
    validations = (
        {"expression": "request.namespace == 'n' && request.name == 'n'"},
        {"expression": "authorizer.requestResource.check('get').allowed()"},
    )
    await enforce(http, policy(*validations, rule={"resources": ["namespaces"]}))
    code, refusal = await http("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    assert (code, "request.namespace == 'n'" in refusal["message"]) == (422, True)
    await http.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
    await http.merge("/api/v1/namespaces/n", {"metadata": {"labels": {"a": "b"}}})


async def test_a_patch_has_the_options_of_what_it_does(http: Http) -> None:
    kinds = "{'CREATE': 'CreateOptions', 'UPDATE': 'UpdateOptions'}"
    await enforce(http, policy({"expression": f"request.options.kind == {kinds}[request.operation]"}))
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **config()}
    code, _ = await http("PATCH", f"{MAPS}/c?fieldManager=me", applied, "application/apply-patch+yaml")
    assert code == 201
    await http.merge(f"{MAPS}/c", {"data": {"size": "small"}})


async def test_a_namespace_is_its_own_namespace_for_the_authorizer(server: ApiServer) -> None:
    resource = server.registry.find("", "v1", "namespaces")
    assert resource is not None
    attributes = Attributes("CREATE", resource, "", "", "n", {}, None, User("me"))
    values = Subject(attributes, resource, {}, None, Authorizer(server.storage)).values
    assert read_opaque(values["authorizer.requestResource"], "ResourceCheck")["namespace"] == "n"
