"""The controller of policies' status: it checks the types in the expressions of a policy after each change.

In: ValidatingAdmissionPolicies, and the server's OpenAPI documents. Out: warnings in the status of each policy, for
whoever wrote it. They change nothing of what the policy allows.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.client.errors import ApiError
from kinformer.expressions import MISSING, is_available
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled
from kinformer.meta import GroupVersionKind
from kinformer.models import V1ValidatingAdmissionPolicy, to_dict
from kinformer_controllers.policystatus.spec import PolicyStatusOptions
from kinformer_controllers.policystatus.typechecking import Schemas, has_unknown, kind_of_params, kinds_of

__all__ = ("PolicyStatus",)

log = get_logger(__name__)

#: The field manager, and the name of the queue.
_NAME: Final = "validatingadmissionpolicy-status"


class PolicyStatus:
    """
    Syncs ValidatingAdmissionPolicies.

    :raises ControllerDisabled: if the extra ``cel`` is not installed
    """

    def __init__(self, context: ControllerContext) -> None:
        if not is_available():
            raise ControllerDisabled(MISSING)
        policies = context.informers.informer_for(V1ValidatingAdmissionPolicy)
        self._cached, self._client = policies.indexer, context.client
        self._server, self._schemas = context.client.resource(V1ValidatingAdmissionPolicy), Schemas(context.client)
        workers = context.read(PolicyStatusOptions).concurrent_validating_admission_policy_status_syncs
        self.controller = Controller(_NAME, self.sync, workers=workers, clock=context.clock)
        self.controller.watch(policies, _is_unchecked)

    async def sync(self, name: str) -> None:
        """
        Check a policy, if its spec has changed since the last time.

        :raises ClientError: if the server refuses the write, or cannot be reached
        """
        policy = self._cached.get_by_key(name)
        if policy is None or not _is_unchecked(None, policy):
            return
        from kinformer_controllers.policystatus.typechecking import warnings_of

        schemas = {kind: schema for kind in await self._kinds(policy) if (schema := await self._schema(kind))}
        of_params = kind_of_params(policy)
        warnings = warnings_of(policy, schemas, await self._schema(of_params) if of_params is not None else None)
        checked = {"expressionWarnings": [to_dict(warning) for warning in warnings]} if warnings else {}
        applied = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "status": {"observedGeneration": policy.metadata.generation, "typeChecking": checked},
        }
        await self._server.apply(applied, field_manager=_NAME, force=True, subresource="status")

    async def _kinds(self, policy: V1ValidatingAdmissionPolicy) -> list[GroupVersionKind]:
        served = await self._client.server_resources()
        if has_unknown(policy, served):
            served = await self._client.server_resources(refresh=True)
        return kinds_of(policy, served)

    async def _schema(self, kind: GroupVersionKind) -> dict[str, Any] | None:
        """The schema of a kind. A type that cannot be found out must not keep a policy from being checked."""
        try:
            return await self._schemas.of(kind)
        except ApiError as error:
            log.warning("schema_unknown", kind=str(kind), error=str(error))
            return None


def _is_unchecked(old: Any, new: Any) -> bool:
    """Whether the spec of a policy has changed since its types were checked."""
    if new is None:
        return False
    observed = new.status.observed_generation if new.status is not None else None
    return (new.metadata.generation or 0) > (observed or 0)
