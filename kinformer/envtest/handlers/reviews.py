"""Reviews: requests that ask who a user is, or what a user may do. They are answered and never stored."""

from __future__ import annotations

from collections.abc import Callable

from kinformer.envtest import status
from kinformer.envtest.access import MASTERS, Action, Authorizer
from kinformer.envtest.access.authorization import EVERYTHING
from kinformer.envtest.admission import User
from kinformer.envtest.handlers.bodies import decode_object
from kinformer.envtest.handlers.call import Answer, Call, encode
from kinformer.envtest.handlers.subresources import bind_pod
from kinformer.envtest.operations import Operations
from kinformer.envtest.strategy.base import Obj

__all__ = ("Reviews",)

_ALLOWED = ("localsubjectaccessreviews", "selfsubjectaccessreviews", "subjectaccessreviews")


class Reviews:
    """
    Answers reviews.

    :param authenticate: returns the user for an Authorization header. None if the header is not valid
    """

    def __init__(self, operations: Operations, authenticate: Callable[..., User | None], authorizer: Authorizer):
        self._operations = operations
        self._authenticate = authenticate
        self._authorizer = authorizer

    def create(self, call: Call) -> Answer:
        """Answer the creation of an object that is never stored."""
        if call.target.resource.plural == "bindings":
            return self._bind(call)
        review = decode_object(call, self._operations.strategy(call.target.resource))
        review["status"] = self._status(call, review.get("spec") or {})
        head = {"kind": call.target.resource.kind, "apiVersion": call.target.resource.api_version}
        return Answer(encode({**head, **review}), 201)

    def _status(self, call: Call, spec: Obj) -> Obj:
        kind = call.target.resource.plural
        if kind in _ALLOWED:
            return {"allowed": self._authorizer.allows(_asked_user(call, spec), _asked_action(call, spec))}
        if kind == "selfsubjectrulesreviews":
            namespace = str(spec.get("namespace", ""))
            rules = list(self._authorizer.rules_for(call.user, namespace))
            if MASTERS in call.user.groups:
                rules += EVERYTHING
            paths = [rule for rule in rules if "nonResourceURLs" in rule]
            others = [rule for rule in rules if "nonResourceURLs" not in rule]
            return {"resourceRules": others, "nonResourceRules": paths, "incomplete": False}
        if kind == "selfsubjectreviews":
            return {"userInfo": call.user.info}
        user = self._authenticate(f"Bearer {spec.get('token', '')}")
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": user.info}

    def _bind(self, call: Call) -> Answer:
        pods = self._operations.registry.find("", "v1", "pods")
        assert pods is not None
        body = decode_object(call, self._operations.strategy(call.target.resource))
        name = body["metadata"].get("name") or ""
        if not name:
            raise status.bad_request("name is required")
        return bind_pod(self._operations, call, pods, call.namespace, name, body)


def _asked_user(call: Call, spec: Obj) -> User:
    if call.target.resource.plural == "selfsubjectaccessreviews":
        return call.user
    return User(str(spec.get("user", "")), groups=tuple(spec.get("groups") or ()))


def _asked_action(call: Call, spec: Obj) -> Action:
    if path := spec.get("nonResourceAttributes"):
        return Action(str(path.get("verb", "")), path=str(path.get("path", "")))
    asked = spec.get("resourceAttributes") or {}
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    values = {name: str(asked.get(name, "")) for name in fields}
    return Action(**{**values, "namespace": values["namespace"] or call.namespace})
