"""A Kubernetes API server in this process, for tests and demonstrations: see :class:`ApiServer`.

:func:`running`, :func:`eventually` and :func:`service_account_token` are for the tests of what works with it.
"""

from __future__ import annotations

from kinformer.envtest.accounts import service_account_token
from kinformer.envtest.server import ApiServer, ServerError
from kinformer.envtest.waiting import eventually, running

__all__ = ("ApiServer", "ServerError", "eventually", "running", "service_account_token")
