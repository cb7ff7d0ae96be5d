"""Controllers, and the manager that runs several of them in one process.

A :class:`Controller` is a ``sync(key)`` function with event sources, a queue and workers around it. A :class:`Manager`
creates the controllers that were selected by name, gives them one client and one set of informers, and runs them until
it is cancelled. A :class:`Fleet` does so for each of many clusters.
"""

from __future__ import annotations

from kinformer.leaderelection import LeadershipLost
from kinformer.manager.beside import KubeControllerManagerRuns
from kinformer.manager.cluster_secrets import KubeconfigSecrets
from kinformer.manager.clusters import Cluster, ClusterList, ClusterSource, KubeconfigContexts
from kinformer.manager.context import ControllerContext, ControllerDisabled, ControllerFactory, Runnable
from kinformer.manager.controller import Controller, ControllerOptions, NotAsync, Sync, SyncError
from kinformer.manager.election import LeaderElection
from kinformer.manager.endpoint import EndpointError
from kinformer.manager.fleet import Fleet
from kinformer.manager.group import Group, Periodic
from kinformer.manager.loading import ControllerLoadError, known_controllers
from kinformer.manager.manager import Manager
from kinformer.manager.names import find_name, long_name
from kinformer.manager.predicates import (
    Predicate,
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
    resource_version_changed,
)
from kinformer.manager.selection import UnknownControllerError, select_controllers
from kinformer.manager.serving import SecureServing
from kinformer.manager.sources import EnqueueKeys, KeysOf, own_key, owner_keys
from kinformer.manager.starting import ControllerNotStarted
from kinformer.manager.syncs import Requeue, RequeueAfter, SyncTimeout, TerminalError
from kinformer.options import OptionError
from kinformer.sharding import MembershipLost, Sharding, ShardingConflict
from kinformer.spec import ControllerSpec

__all__ = (
    "Cluster",
    "ClusterList",
    "ClusterSource",
    "Controller",
    "ControllerContext",
    "ControllerDisabled",
    "ControllerFactory",
    "ControllerLoadError",
    "ControllerNotStarted",
    "ControllerOptions",
    "ControllerSpec",
    "EndpointError",
    "EnqueueKeys",
    "Fleet",
    "Group",
    "KeysOf",
    "KubeControllerManagerRuns",
    "KubeconfigContexts",
    "KubeconfigSecrets",
    "LeaderElection",
    "LeadershipLost",
    "Manager",
    "MembershipLost",
    "NotAsync",
    "OptionError",
    "Periodic",
    "Predicate",
    "Requeue",
    "RequeueAfter",
    "Runnable",
    "SecureServing",
    "ShardingConflict",
    "Sharding",
    "Sync",
    "SyncError",
    "SyncTimeout",
    "TerminalError",
    "UnknownControllerError",
    "annotations_changed",
    "any_of",
    "find_name",
    "generation_changed",
    "known_controllers",
    "labels_changed",
    "long_name",
    "own_key",
    "owner_keys",
    "resource_version_changed",
    "select_controllers",
)
