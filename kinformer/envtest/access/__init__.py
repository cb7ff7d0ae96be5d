"""Authentication and authorization: users and their credentials, roles and what their rules allow."""

from __future__ import annotations

from kinformer.envtest.access.authorization import MASTERS, Action, Authorizer
from kinformer.envtest.access.escalation import Escalation
from kinformer.envtest.access.users import ADMINISTRATOR, Users, impersonated

__all__ = ("ADMINISTRATOR", "MASTERS", "Action", "Authorizer", "Escalation", "Users", "impersonated")
