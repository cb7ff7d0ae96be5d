"""Helpers for authors of operators.

- Custom resources, declared once as a class (:class:`CustomResource`), and their CustomResourceDefinitions
  (:func:`definition_of`, :func:`install`).
- Server-side apply of objects that an operator owns (:class:`Applier`).
- Finalizers (:class:`Finalizer`), conditions, and writing the status.
- A controller as a class (:class:`Reconciler`).

A controller needs none of them. Each is a function or a small class on top of the client, and can be used alone.
"""

from kinformer.controllerutil.applying import Applier, Outcome, Written, changed_fields
from kinformer.controllerutil.conditions import get_condition, is_condition_true, set_condition, without_condition
from kinformer.controllerutil.finalizers import Finalizer, add_finalizer, has_finalizer, remove_finalizer
from kinformer.controllerutil.owning import AlreadyOwned, set_controller_reference
from kinformer.controllerutil.writing import (
    ObjectReplaced,
    create_or_update,
    retry_on_conflict,
    update_status_if_changed,
)
from kinformer.operator.custom_resource import Column, CustomResource, Fields, OpenFields, OpenResource, Scale
from kinformer.operator.definitions import DefinitionNotEstablished, definition_of, install
from kinformer.operator.markers import atomic, immutable, list_map, list_set, named, preserve_unknown_fields, rule
from kinformer.operator.reconciler import OptionsOf, Reconciler
from kinformer.operator.related import Found, Owned, Referred, Related, Relation
from kinformer.operator.schema import SchemaError, schema_of

__all__ = (
    "AlreadyOwned",
    "Applier",
    "Column",
    "CustomResource",
    "DefinitionNotEstablished",
    "Fields",
    "Found",
    "Finalizer",
    "ObjectReplaced",
    "OpenFields",
    "OpenResource",
    "OptionsOf",
    "Outcome",
    "Owned",
    "Reconciler",
    "Referred",
    "Related",
    "Relation",
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
    "named",
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
