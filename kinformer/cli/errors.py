"""Which errors are a user's to mend: those are told in one line, all others are bugs and keep their traceback."""

from __future__ import annotations

from kinformer.bench.results import BenchError
from kinformer.cli.demo_webhook import WebhookNotStarted
from kinformer.cli.manifests import ManifestError
from kinformer.cli.remote import RemoteError
from kinformer.client import ClientError
from kinformer.envtest import ServerError
from kinformer.logs import escaped
from kinformer.manager import (
    ControllerLoadError,
    ControllerNotStarted,
    EndpointError,
    KubeControllerManagerRuns,
    LeadershipLost,
    MembershipLost,
    OptionError,
    ShardCountConflict,
    UnknownControllerError,
)
from kinformer.manager.rbac import UndeclaredPermissions

__all__ = ("plain_error",)

_USERS = (
    BenchError,
    ClientError,
    ControllerLoadError,
    ControllerNotStarted,
    EndpointError,
    KubeControllerManagerRuns,
    LeadershipLost,
    ManifestError,
    MembershipLost,
    OptionError,
    RemoteError,
    ServerError,
    ShardCountConflict,
    UndeclaredPermissions,
    UnknownControllerError,
    WebhookNotStarted,
)


def plain_error(error: BaseException) -> str | None:
    """One line for a user, None where the error is not theirs."""
    if isinstance(error, _USERS):
        # A server may have chosen the words; a terminal would obey its control characters.
        return escaped(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return None
