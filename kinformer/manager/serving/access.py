"""Access: the API server decides who may read what from the endpoint.

A request has a client certificate, a bearer token, or nothing. A certificate of an authority that the endpoint trusts
names its user. A TokenReview tells which user a token belongs to. A SubjectAccessReview tells
whether this user may use the verb on the path. So the cluster's own roles decide, as for Kubernetes' components. For
example, a ClusterRole with ``nonResourceURLs: ["/metrics"]`` and ``verbs: ["get"]`` lets Prometheus in. Answers are
cached for ten seconds. Some paths are open to everybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

import anyio

from kinformer.client import Client
from kinformer.client.errors import ClientError
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.lru import LRU
from kinformer.models import (
    V1NonResourceAttributes,
    V1ObjectMeta,
    V1SubjectAccessReview,
    V1SubjectAccessReviewSpec,
    V1TokenReview,
    V1TokenReviewSpec,
)

__all__ = ("ALWAYS_ALLOWED", "Access", "KeptFor", "Refusal", "Reviewer", "user_of_certificate")

log = get_logger(__name__)

T = TypeVar("T")

#: The paths that everybody may read, because a kubelet sends no token with its probes. Paths below them are not open.
ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")

#: How many answers of each kind are cached, and how many reviews are requested at a time.
_MOST: Final = 1024
_AT_ONCE: Final = 8
#: Seconds that a review may take.
_TIMEOUT: Final = 10.0

#: The most characters that a token may have. Tokens of service accounts have about a thousand.
_LONGEST_TOKEN: Final = 16384


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A user, as a TokenReview describes it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


#: The user of requests without a token.
_ANONYMOUS: Final = Reviewer("system:anonymous", groups=("system:unauthenticated",))


@dataclass(frozen=True, slots=True)
class KeptFor:
    """
    For how many seconds answers of the API server are cached. The defaults are kube-controller-manager's.

    :param users: who a token belongs to
    :param allowed: that a user may do something
    :param refused: that a user may not
    """

    users: float = 10.0
    allowed: float = 10.0
    refused: float = 10.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request: the HTTP status, and the reason and message of a Status."""

    code: int
    reason: str
    message: str


class _Unreviewed(Exception):
    """The API server did not answer a review."""


def user_of_certificate(certificate: Mapping[str, Any]) -> Reviewer | None:
    """
    The user that a client's certificate names: its common name, with its organizations as groups.

    :param certificate: as :meth:`ssl.SSLSocket.getpeercert` gives it, so it is one that was checked. Empty if there is
        none
    :return: None if there is no certificate, or it has no common name
    """
    names: dict[str, list[str]] = {}
    for part in certificate.get("subject", ()):
        for kind, value in part:
            names.setdefault(kind, []).append(value)
    if not names.get("commonName"):
        return None
    return Reviewer(names["commonName"][0], groups=(*names.get("organizationName", ()), "system:authenticated"))


@dataclass(eq=False, slots=True)
class Access:
    """
    Decides whether a request may be served.

    :param client: creates the reviews. It must not be a client that writes only while this process leads: creating a
        review is a write
    :param always_allow: the paths that everybody may read. A path that ends with ``*`` stands for all paths with this
        prefix
    :param clock: for the time that answers are cached
    :param tokens: creates the TokenReviews; `client` if None
    :param kept: for how long answers are cached
    """

    client: Client
    always_allow: Sequence[str] = ALWAYS_ALLOWED
    clock: Clock = field(default_factory=RealClock)
    tokens: Client | None = field(default=None, kw_only=True)
    kept: KeptFor = field(default_factory=KeptFor, kw_only=True)
    _users: _Kept[Reviewer | None] = field(init=False)
    _allowed: _Kept[bool] = field(init=False)
    _turns: anyio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._users = _Kept(self.clock)
        self._allowed = _Kept(self.clock)
        self._turns = anyio.Semaphore(_AT_ONCE)

    async def refusal(
        self, verb: str, path: str, authorization: str, certified: Reviewer | None = None
    ) -> Refusal | None:
        """
        Why a request is refused, None if it may be served.

        :param verb: the request's method in lower case
        :param path: the request's path
        :param authorization: the header ``Authorization``, empty if there is none
        :param certified: the user that the client's certificate names. It comes before the token, as in Kubernetes
        """
        if self._is_open(path):
            return None
        user = certified
        try:
            if user is None:
                user = await self._user(authorization)
        except _Unreviewed as error:
            log.error("token_not_reviewed", error=str(error))
        if user is None:
            return Refusal(401, "Unauthorized", "Unauthorized")
        try:
            allowed = await self._allowed.get((user, verb, path), partial(self._may, user, verb, path), self._kept_for)
        except _Unreviewed as error:
            log.error("access_not_reviewed", user=user.name, path=path, error=str(error))
            return Refusal(500, "InternalError", "Internal Server Error: the API server did not review the access")
        if not allowed:
            return Refusal(403, "Forbidden", f'forbidden: User "{user.name}" cannot {verb} path "{path}"')
        return None

    def _is_open(self, path: str) -> bool:
        return any(
            path.startswith(allowed[:-1]) if allowed.endswith("*") else path == allowed for allowed in self.always_allow
        )

    async def _user(self, authorization: str) -> Reviewer | None:
        kind, _, token = authorization.strip().partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            return _ANONYMOUS
        if len(token) > _LONGEST_TOKEN:
            return None
        # The cache has a hash of the token, so that the token does not stay in memory.
        return await self._users.get(sha256(token.encode()).digest(), lambda: self._review(token), self._user_kept_for)

    def _kept_for(self, allowed: bool) -> float:
        return self.kept.allowed if allowed else self.kept.refused

    def _user_kept_for(self, user: Reviewer | None) -> float:
        return self.kept.users

    async def _review(self, token: str) -> Reviewer | None:
        review = V1TokenReview(metadata=V1ObjectMeta(), spec=V1TokenReviewSpec(token=token))
        status = (await self._asked(self.tokens or self.client, V1TokenReview, review)).status
        if status is None or not status.authenticated or status.user is None:
            return None
        user = status.user
        extra = tuple(sorted((key, tuple(values or ())) for key, values in (user.extra or {}).items()))
        return Reviewer(user.username or "", user.uid or "", tuple(user.groups or ()), extra)

    async def _may(self, user: Reviewer, verb: str, path: str) -> bool:
        extra: Mapping[str, list[str]] = {key: list(values) for key, values in user.extra}
        spec = V1SubjectAccessReviewSpec(
            user=user.name,
            uid=user.uid or None,
            groups=list(user.groups) or None,
            extra=dict(extra) or None,
            non_resource_attributes=V1NonResourceAttributes(path=path, verb=verb),
        )
        review = V1SubjectAccessReview(metadata=V1ObjectMeta(), spec=spec)
        status = (await self._asked(self.client, V1SubjectAccessReview, review)).status
        return status is not None and bool(status.allowed) and not status.denied

    async def _asked(self, client: Client, kind: type[T], review: T) -> T:
        try:
            with anyio.fail_after(_TIMEOUT):
                async with self._turns:
                    return await client.resource(kind).create(review)
        except TimeoutError as error:
            raise _Unreviewed(f"no answer within {_TIMEOUT:g} s") from error
        except ClientError as error:
            raise _Unreviewed(str(error)) from error


class _Kept(Generic[T]):
    """
    A cache of answers, each for some seconds that depend on the answer. Callers that need the same answer at the same
    time share one request. A failure is not cached.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: LRU[Hashable, tuple[float, T]] = LRU(_MOST)
        self._asking: dict[Hashable, anyio.Event] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]], kept_for: Callable[[T], float]) -> T:
        while True:
            kept = self._answers.get(key)
            if kept is not None and self._clock.monotonic() < kept[0]:
                return kept[1]
            asking = self._asking.get(key)
            if asking is None:
                break
            await asking.wait()
        self._asking[key] = asked = anyio.Event()
        try:
            answer = await ask()
            self._answers.put(key, (self._clock.monotonic() + kept_for(answer), answer))
            return answer
        finally:
            del self._asking[key]
            asked.set()
