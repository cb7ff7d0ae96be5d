"""CEL, the expression language of rules in schemas, admission policies, and the match conditions of webhooks.

The language comes from `cel-expr-python`, Google's C++ implementation with its type checker. This package adds what
Kubernetes adds: functions, types from schemas, and error texts. The two packages that it needs come with the extra
``kinformer[cel]``. Without them this code is not imported, and an object with an expression is refused with the text
:data:`MISSING`.
"""

from __future__ import annotations

from kinformer.expressions.engine import CompileError, Environment, EvaluationError, Program
from kinformer.expressions.library import AccessCheck
from kinformer.expressions.packages import MISSING, is_available
from kinformer.expressions.types import Types, escape, to_cel

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
