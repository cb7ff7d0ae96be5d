"""Authentication: the user of a request's credentials.

The credentials are the server's own token (its user may do everything), a service account's token, or a client's
certificate. A service account's token is a JWT that this server has signed. It is valid until it expires (by the
server's clock), and only while the account with that uid exists.

A user may make a request as another user, whom the ``Impersonate-*`` headers name. For each part of the other (user or
service account, groups, uid, extra) the first user needs the verb ``impersonate``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

import msgspec

from kinformer.clock import Clock
from kinformer.envtest import status
from kinformer.envtest.access.authorization import MASTERS, Action, Authorizer
from kinformer.envtest.admission import User
from kinformer.envtest.certificates import user_of_certificate
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource

__all__ = ("ADMINISTRATOR", "Users", "impersonated")

#: The user of the server's own token and of the certificates in its kubeconfig: the name that kubeadm gives.
ADMINISTRATOR = "kubernetes-admin"

_ACCOUNTS = GroupResource("", "serviceaccounts")
_ISSUER = "https://kubernetes.default.svc.cluster.local"
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_KNOWN, _UNKNOWN = "system:authenticated", "system:unauthenticated"
_PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"
_ANONYMOUS = "system:anonymous"
_AUTHENTICATION = "authentication.k8s.io"


class _Account(msgspec.Struct):
    name: str
    uid: str


class _Bound(msgspec.Struct):
    namespace: str
    serviceaccount: _Account


class _Claims(msgspec.Struct):
    exp: int
    jti: str
    bound: _Bound = msgspec.field(name="kubernetes.io")


_read_claims = msgspec.json.Decoder(_Claims).decode


class Users:
    """
    The users of one server.

    :param token: the server's own token. A request with it may do everything
    :param clock: tells when tokens expire
    :param storage: returns the store. It is called each time, because a restart may make another store
    """

    def __init__(self, token: str, clock: Clock, storage: Callable[[], Storage]):
        self._token = token
        self._clock = clock
        self._storage = storage
        self._secret = secrets.token_bytes(32)
        self._administrator = User(ADMINISTRATOR, groups=(MASTERS, _KNOWN))

    def authenticate(self, header: str, certificate: Any = None) -> User | None:
        """
        Find the user of a request.

        :param header: the Authorization header
        :param certificate: as :meth:`ssl.SSLSocket.getpeercert` returns it. If it names a user, the header is ignored
        :return: None if the credentials are not valid
        """
        if (found := user_of_certificate(certificate)) is not None:
            return User(found[0], groups=(*found[1], _KNOWN))
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        if hmac.compare_digest(_bytes(token), _bytes(self._token)):
            return self._administrator
        return self._account_of(token)

    def issue(self, namespace: str, name: str, uid: str, seconds: int) -> str:
        """Make a token for a service account, which expires after some seconds."""
        now = int(self._clock.now().timestamp())
        claims = {
            "aud": [_ISSUER],
            "exp": now + seconds,
            "iat": now,
            "iss": _ISSUER,
            "jti": secrets.token_hex(16),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        text = ".".join(_packed(msgspec.json.encode(part)) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
        return f"{text}.{self._signature(text)}"

    def _signature(self, text: str) -> str:
        return _packed(hmac.digest(self._secret, _bytes(text), hashlib.sha256))

    def _account_of(self, token: str) -> User | None:
        text, _, signature = token.rpartition(".")
        if not hmac.compare_digest(_bytes(signature), _bytes(self._signature(text))):
            return None
        claims = _read_claims(base64.urlsafe_b64decode((signed := text.partition(".")[2]) + "=" * (-len(signed) % 4)))
        namespace, account = claims.bound.namespace, claims.bound.serviceaccount
        if self._clock.now().timestamp() > claims.exp:
            return None
        stored = self._storage().get(_ACCOUNTS, namespace, account.name)
        if stored is None or stored.decode()["metadata"]["uid"] != account.uid:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _KNOWN)
        name = f"system:serviceaccount:{namespace}:{account.name}"
        return User(name, account.uid, groups, {_CREDENTIAL: [f"JTI={claims.jti}"]})


def _bytes(text: str) -> bytes:
    """The bytes that were sent. Headers come as text, in which bytes that are not UTF-8 are escaped."""
    return text.encode("utf-8", "surrogateescape")


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# -- impersonation ----------------------------------------------------------------------------------------------------


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
