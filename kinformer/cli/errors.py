"""Which errors are a user's to mend: those are told in one line, all others are bugs and keep their traceback.

They are named here and not imported: an error that was raised has been imported by whoever raised it, and no command
pays for the errors of the others.
"""

from __future__ import annotations

from typing import Final

from kinformer.logs import escaped

__all__ = ("USERS_ERRORS", "plain_error")

#: Classes of errors, each with the module that defines it.
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
        "kinformer.manager.starting.ControllerNotStarted",
        "kinformer.options.OptionError",
        "kinformer.sharding.member.MembershipLost",
        "kinformer.sharding.table.ShardCountConflict",
        "kinformer.simulation.explore.NotShareable",
        "kinformer.simulation.scenario_file.ScenarioFileError",
        "kinformer.simulation.trial.ScenarioError",
    }
)


def plain_error(error: BaseException) -> str | None:
    """One line for a user, None where the error is not theirs."""
    if any(f"{class_.__module__}.{class_.__qualname__}" in USERS_ERRORS for class_ in type(error).__mro__):
        # A server may have chosen the words; a terminal would obey its control characters.
        return escaped(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return None
