"""The quota plug-in of the embedded API server. It charges every write to its namespace's quotas, or refuses it.

The server finds it through the entry point group ``kinformer.admission``. A write of the server is a transaction, and
the charge is a part of it: no other write can come between the charge and the write of its object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.meta import GroupResource
from kinformer_controllers.shared.quota.admission.check import QuotaRefused, UncoveredScopes, changed, check_request
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, Request
from kinformer_controllers.shared.quota.limits import quota_of, with_status
from kinformer_controllers.shared.quota.registry import IGNORED_RESOURCES, Registry, core_registry

__all__ = ("QuotaPlugin", "make_plugin")

if TYPE_CHECKING:
    from kinformer.envtest.admission import AdmissionContext, Attributes

_NAMESPACES = GroupResource("", "namespaces")


def make_plugin(context: AdmissionContext) -> QuotaPlugin:
    """Make the plug-in. The entry point ``resourcequota`` names this function."""
    return QuotaPlugin(context)


class QuotaPlugin:
    """
    Enforces ResourceQuotas.

    :param registry: the evaluators; the objects of a resource without one are counted
    """

    def __init__(self, context: AdmissionContext, registry: Registry | None = None) -> None:
        self._objects = context.objects
        self._registry = registry or core_registry(clock=context.clock)

    def admit(self, attributes: Attributes) -> None:
        """Do nothing: an object is measured after all plug-ins have changed it."""

    def validate(self, attributes: Attributes) -> None:
        """
        Charge a write.

        :raises StatusError: if not enough of a quota is left
        """
        resource = attributes.resource.group_resource
        if attributes.operation not in (CREATE, UPDATE) or not attributes.namespace or resource == _NAMESPACES:
            return
        if resource in IGNORED_RESOURCES:
            return
        quotas = [quota_of(obj) for obj in self._objects.list("", "resourcequotas", attributes.namespace)]
        if not quotas:
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
        evaluator = self._registry.get_or_count(resource)
        if not evaluator.handles(request):
            return
        # Imported here, because a webhook imports this package, too, and needs no server.
        from kinformer.envtest.status import forbidden, internal

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
