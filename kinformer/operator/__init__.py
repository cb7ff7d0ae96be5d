"""What authors of operators need beside a controller.

Custom resources, declared once (:class:`CustomResource`), and the definitions that have a server serve them
(:func:`definition_of`, :func:`install`); objects that are owned and applied (:class:`Applier`); finalizers
(:class:`Finalizer`); conditions and the status; and a controller as a class (:class:`Reconciler`). None of them is
needed for a controller: each is a function or a small class over the client, and works alone.
"""

from kinformer.operator.applying import Applier
from kinformer.operator.changes import Outcome, Written, changed_fields
from kinformer.operator.conditions import get_condition, is_condition_true, set_condition, without_condition
from kinformer.operator.custom_resource import Column, CustomResource, Fields, Scale
from kinformer.operator.definitions import DefinitionNotEstablished, definition_of, install
from kinformer.operator.finalizers import Finalizer, add_finalizer, has_finalizer, remove_finalizer
from kinformer.operator.markers import atomic, immutable, list_map, list_set, preserve_unknown_fields, rule
from kinformer.operator.owning import AlreadyOwned, set_controller_reference
from kinformer.operator.reconciler import Reconciler
from kinformer.operator.retrying import retry_on_conflict
from kinformer.operator.schema import SchemaError, schema_of
from kinformer.operator.status import ObjectReplaced, update_status_if_changed
from kinformer.operator.writing import create_or_update

__all__ = (
    "AlreadyOwned",
    "Applier",
    "Column",
    "CustomResource",
    "DefinitionNotEstablished",
    "Fields",
    "Finalizer",
    "ObjectReplaced",
    "Outcome",
    "Reconciler",
    "Scale",
    "SchemaError",
    "Written",
    "add_finalizer",
    "atomic",
    "changed_fields",
    "create_or_update",
    "definition_of",
    "get_condition",
    "has_finalizer",
    "immutable",
    "install",
    "is_condition_true",
    "list_map",
    "list_set",
    "preserve_unknown_fields",
    "remove_finalizer",
    "retry_on_conflict",
    "rule",
    "schema_of",
    "set_condition",
    "set_controller_reference",
    "update_status_if_changed",
    "without_condition",
)
