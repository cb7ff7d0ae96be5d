"""What every controller does beside deciding: own, claim, count, wait, and write. Each part can be used alone.

In: objects from caches, and what a controller has decided. Out: writes on the server, once and not twice, and never to
another object of the same name. Kubernetes' own controllers (``kinformer_controllers``) and operators use the same
parts.

=====================  ====================================================================================
:mod:`.owning`         owner references, and the objects in a cache that an owner controls
:mod:`.selecting`      the objects in a cache that a selector matches
:mod:`.claiming`       adopts objects that match a selector, and releases those that no longer do
:mod:`.handlers`       event handlers that queue owners, and lower their expectations
:mod:`.expectations`   creations and deletions that a cache does not show yet
:mod:`.conditions`     conditions in a status
:mod:`.finalizers`     cleaning up before an object is removed
:mod:`.applying`       server-side apply that sends nothing if nothing has to change
:mod:`.writing`        statuses, create or update, retry on conflict
:mod:`.batches`        many writes at once, slowly at first
:mod:`.pod_control`    creates, deletes and patches pods, and records the Events
:mod:`.pods`           whether a pod is ready, available, active or at its end
:mod:`.ranking`        the order in which pods are deleted when there are too many
=====================  ====================================================================================
"""

from kinformer.controllerutil.applying import Applier, Outcome, Written, changed_fields
from kinformer.controllerutil.batches import slow_start, write_children
from kinformer.controllerutil.claiming import AdoptionError, ControllerRefManager, OwnedPods, recheck_deletion
from kinformer.controllerutil.conditions import (
    get_condition,
    is_condition_true,
    put_condition,
    set_condition,
    without_condition,
)
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.finalizers import Finalizer, add_finalizer, has_finalizer, remove_finalizer
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import (
    AlreadyOwned,
    OwnerId,
    OwnersByReference,
    add_controller_index,
    owned_by,
    owner_id,
    set_controller_reference,
)
from kinformer.controllerutil.pod_control import PodControl, pod_from_template
from kinformer.controllerutil.selecting import selected_by
from kinformer.controllerutil.writing import (
    ObjectReplaced,
    create_or_update,
    retry_on_conflict,
    update_status_if_changed,
    write_status,
)

__all__ = (
    "AdoptionError",
    "AlreadyOwned",
    "Applier",
    "ControllerRefManager",
    "Expectations",
    "Finalizer",
    "ObjectReplaced",
    "Outcome",
    "OwnedPods",
    "OwnerHandler",
    "OwnerId",
    "OwnersByReference",
    "PodControl",
    "PodHandler",
    "Written",
    "add_controller_index",
    "add_finalizer",
    "changed_fields",
    "create_or_update",
    "get_condition",
    "has_finalizer",
    "is_condition_true",
    "owned_by",
    "owner_id",
    "pod_from_template",
    "put_condition",
    "recheck_deletion",
    "remove_finalizer",
    "retry_on_conflict",
    "selected_by",
    "set_condition",
    "set_controller_reference",
    "slow_start",
    "update_status_if_changed",
    "without_condition",
    "write_children",
    "write_status",
)
