"""Impersonation: one user makes a request as another user.

The ``Impersonate-*`` headers name the other user. For each part of it (user or service account, groups, uid, extra) the
first user needs the verb ``impersonate``.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from kinformer.envtest import status
from kinformer.envtest.access.authorization import Action, Authorizer
from kinformer.envtest.admission import User

__all__ = ("impersonated",)

_PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"
_ANONYMOUS = "system:anonymous"
_KNOWN, _UNKNOWN = "system:authenticated", "system:unauthenticated"
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(headers: Iterable[tuple[str, str]], user: User, authorizer: Authorizer) -> User:
    """
    The user that a request is authorized as: the one in its headers, or else the authenticated one.

    :param headers: the request's headers. A header that was sent several times is in it several times
    :param user: the user of the request's credentials
    :raises StatusError: Forbidden if `user` may not impersonate the other one. BadRequest if the headers have groups,
        extra or a uid, but no user
    """
    said = [(name.lower(), value) for name, value in headers if name[:1] in "iI" and name.lower().startswith(_PREFIX)]
    if not said:
        return user
    name = next((value for header, value in said if header == "impersonate-user"), "")
    uid = next((value for header, value in said if header == "impersonate-uid"), "")
    groups = [value for header, value in said if header == "impersonate-group"]
    extra: dict[str, list[str]] = {}
    for header, value in said:
        if header.startswith(_EXTRA):
            extra.setdefault(unquote(header.removeprefix(_EXTRA)), []).append(value)
    if not name:
        if groups or extra or uid:
            raise status.bad_request("requested groups, extra or uid without impersonating a user")
        return user
    _, _, account = name.partition(_ACCOUNT)
    namespace, _, account = account.partition(":") if name.startswith(_ACCOUNT) else ("", "", "")
    if account:
        authorizer.check(user, Action("impersonate", "", "serviceaccounts", "", namespace, account))
    else:
        authorizer.check(user, Action("impersonate", "", "users", name=name))
    for group in groups:
        authorizer.check(user, Action("impersonate", "", "groups", name=group))
    for key, values in extra.items():
        for value in values:
            authorizer.check(user, Action("impersonate", _AUTHENTICATION, "userextras", key, name=value))
    if uid:
        authorizer.check(user, Action("impersonate", _AUTHENTICATION, "uids", name=uid))
    if account and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return User(name, uid, (*groups, *_implied(name, groups)), extra)


def _implied(name: str, groups: list[str]) -> tuple[str, ...]:
    """The group of all authenticated users, or of all others, unless `groups` has one of them."""
    if name == _ANONYMOUS:
        return () if _UNKNOWN in groups else (_UNKNOWN,)
    return () if _KNOWN in groups or _UNKNOWN in groups else (_KNOWN,)
