"""The errors that a user can mend. They are printed in one line; all others are bugs and are printed with a traceback.

The classes are listed by name and not imported, so that a command does not import the modules of other commands.
"""

from __future__ import annotations

from typing import Final

from kinformer.logs import escaped

__all__ = ("USERS_ERRORS", "plain_error")

#: The full names of the classes.
USERS_ERRORS: Final = frozenset(
    {
        "kinformer.bench.results.BenchError",
        "kinformer.cli.crd.CrdError",
        "kinformer.cli.demo_webhook.WebhookNotStarted",
        "kinformer.cli.manifests.ManifestError",
        "kinformer.cli.new.NewProjectError",
        "kinformer.cli.remote.RemoteError",
        "kinformer.cli.simulate.SimulateError",
        "kinformer.client.errors.ClientError",
        "kinformer.envtest.serving.ServerError",
        "kinformer.leaderelection.elector.LeadershipLost",
        "kinformer.manager.beside.KubeControllerManagerRuns",
        "kinformer.manager.endpoint.EndpointError",
        "kinformer.manager.loading.ControllerLoadError",
        "kinformer.manager.rbac.UndeclaredPermissions",
        "kinformer.manager.selection.UnknownControllerError",
        "kinformer.manager.serving.certificates.CertificateError",
        "kinformer.manager.starting.ControllerNotStarted",
        "kinformer.operator.webhooks.server.WebhookServerError",
        "kinformer.options.OptionError",
        "kinformer.recording.file.RecordingUnusable",
        "kinformer.sharding.membership.MembershipLost",
        "kinformer.sharding.table.ShardingConflict",
        "kinformer.simulation.explore.NotShareable",
        "kinformer.simulation.scenario_file.ScenarioFileError",
        "kinformer.simulation.trial.ScenarioError",
    }
)


def plain_error(error: BaseException) -> str | None:
    """The line for the user; None if the error is a bug."""
    if any(f"{class_.__module__}.{class_.__qualname__}" in USERS_ERRORS for class_ in type(error).__mro__):
        # The text may come from a server. Its control characters must not reach the terminal.
        return escaped(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return None
