"""What authors of operators need beside a controller: custom resources, declared once."""

from kinformer.operator.custom_resource import CustomResource, Fields

__all__ = ("CustomResource", "Fields")
