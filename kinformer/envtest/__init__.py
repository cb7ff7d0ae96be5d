"""A Kubernetes API server in this process, for tests and demonstrations: see :class:`ApiServer`.

For tests of programs that use it: :func:`running` and :func:`eventually`; :func:`turn` and :func:`quiet` for a clock
that tests turn; :func:`assert_no_writes`; :func:`service_account_token`.
"""

from __future__ import annotations

from kinformer.envtest.budgets import Budget
from kinformer.envtest.credentials import service_account_token
from kinformer.envtest.server import ApiServer, ServerError
from kinformer.envtest.waiting import eventually, quiet, running, turn
from kinformer.envtest.writes import RENEWALS, Write, assert_no_writes

__all__ = (
    "RENEWALS",
    "ApiServer",
    "Budget",
    "ServerError",
    "Write",
    "assert_no_writes",
    "eventually",
    "quiet",
    "running",
    "service_account_token",
    "turn",
)
