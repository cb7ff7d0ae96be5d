"""The admission plug-in of the embedded API server: every write is charged to its namespace's quotas, or refused.

It is found through the entry point group ``kinformer.admission``. The server's writes are transactions, of which the
charge is a part: no other write comes between it and the object that it is for.
"""

from __future__ import annotations

from kinformer.envtest.admission import AdmissionContext, Attributes
from kinformer.envtest.status import forbidden, internal
from kinformer.meta import GroupResource
from kinformer_controllers.shared.quota.admission.check import QuotaRefused, UncoveredScopes, changed, check_request
from kinformer_controllers.shared.quota.counts import object_count_evaluator
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, Evaluator, Request
from kinformer_controllers.shared.quota.limits import quota_of, with_status
from kinformer_controllers.shared.quota.registry import IGNORED_RESOURCES, Registry, core_registry

__all__ = ("QuotaPlugin", "make_plugin")

_NAMESPACES = GroupResource("", "namespaces")


def make_plugin(context: AdmissionContext) -> QuotaPlugin:
    """The entry point ``resourcequota``."""
    return QuotaPlugin(context)


class QuotaPlugin:
    """
    Enforces ResourceQuotas.

    :param registry: knows what objects use; a resource that it does not know is counted
    """

    def __init__(self, context: AdmissionContext, registry: Registry | None = None) -> None:
        self._objects = context.objects
        self._registry = registry or core_registry(clock=context.clock)

    def admit(self, attributes: Attributes) -> None:
        """Nothing: an object is measured when everybody has changed it."""

    def validate(self, attributes: Attributes) -> None:
        """
        Charge a write.

        :raises StatusError: if there is not enough left
        """
        resource = attributes.resource.group_resource
        if attributes.operation not in (CREATE, UPDATE) or not attributes.namespace or resource == _NAMESPACES:
            return
        if resource in IGNORED_RESOURCES:
            return
        request = Request(
            attributes.operation,
            resource,
            attributes.namespace,
            attributes.name,
            attributes.object,
            attributes.old_object,
            attributes.subresource,
            attributes.dry_run,
        )
        evaluator = self._evaluator(resource)
        if not evaluator.handles(request):
            return
        quotas = [quota_of(obj) for obj in self._objects.list("", "resourcequotas", attributes.namespace)]
        if not quotas:
            return
        try:
            charged = check_request(quotas, request, evaluator)
        except QuotaRefused as refusal:
            raise forbidden(refusal.resource, refusal.name, refusal.reason) from refusal
        except (UncoveredScopes, ValueError) as error:
            raise internal(str(error)) from error
        if request.dry_run:
            return
        for quota in changed(quotas, charged):
            self._objects.update_status("", "resourcequotas", with_status(quota.source, quota))

    def _evaluator(self, resource: GroupResource) -> Evaluator:
        evaluator = self._registry.get(resource)
        if evaluator is None:
            evaluator = object_count_evaluator(resource)
            self._registry.add(evaluator)
        return evaluator
