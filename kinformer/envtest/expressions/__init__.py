"""CEL, the expressions of the API: rules of custom resources, admission policies, and conditions of webhooks.

The language itself is `cel-expr-python`'s, Google's C++ implementation with its type checker; what is here is what
Kubernetes adds to it: its functions, the types of schemas, and its words for what goes wrong. Both packages that it
takes come with the extra ``kinformer[cel]``. Without them nothing of this is imported, and an object with an expression
in it is refused with :data:`MISSING`.
"""

from __future__ import annotations

from kinformer.envtest.expressions.engine import CompileError, Environment, EvaluationError, Program
from kinformer.envtest.expressions.library import AccessCheck
from kinformer.envtest.expressions.packages import MISSING, is_available
from kinformer.envtest.expressions.types import Types, escape, to_cel

__all__ = (
    "MISSING",
    "AccessCheck",
    "CompileError",
    "Environment",
    "EvaluationError",
    "Program",
    "Types",
    "escape",
    "is_available",
    "to_cel",
)
