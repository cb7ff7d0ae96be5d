"""The service account token controller: fills Secrets of the type service-account-token, and deletes them.

In: ServiceAccounts and Secrets. Out: Secrets get a token, the server's CA certificates and the namespace; Secrets whose
account is gone are deleted; references to deleted Secrets are removed from accounts. Promised: before a Secret is
deleted, it is checked on the server that its account does not exist; the deletion has the Secret's uid as a
precondition.

The keys of its queues have more than a name, because the object may be gone. A ServiceAccount's key has its uid, so
that only the tokens of this account are deleted. A Secret's key has the Secret's uid and the account that it was for.
The parts are quoted, because they come from annotations with any content.
"""

from __future__ import annotations

import copy
from dataclasses import astuple, dataclass
from typing import Self
from urllib.parse import quote, unquote

from kinformer.cache import NAMESPACE_INDEX
from kinformer.client.errors import Conflict, NotFound
from kinformer.controllerutil.writing import delete_same
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled, Group
from kinformer.models import V1Secret, V1ServiceAccount
from kinformer_controllers.serviceaccounttoken.spec import TokenOptions
from kinformer_controllers.serviceaccounttoken.tokens import TokenFiller, load_signer
from kinformer_controllers.shared.identity import (
    account_named_by,
    account_uid_named_by,
    is_token_of,
    is_token_secret,
    root_ca,
)

__all__ = ("AccountKey", "SecretKey", "TokenController", "make_controller")

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Key:
    """A key of a queue: a text with the fields."""

    namespace: str
    name: str
    uid: str

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(*map(unquote, text.split("/")))

    def __str__(self) -> str:
        return "/".join(quote(part, safe="") for part in astuple(self))


class AccountKey(_Key):
    """The key of a ServiceAccount."""

    __slots__ = ()

    @classmethod
    def of(cls, account: V1ServiceAccount) -> AccountKey:
        meta = account.metadata
        return cls(meta.namespace, meta.name, meta.uid)


@dataclass(frozen=True, slots=True)
class SecretKey(_Key):
    """
    The key of a Secret.

    :param account: the name of the account that the Secret is for
    :param account_uid: the account's uid; ``""`` if the Secret does not have it
    """

    account: str
    account_uid: str

    @classmethod
    def of(cls, secret: V1Secret) -> SecretKey:
        meta = secret.metadata
        return cls(meta.namespace, meta.name, meta.uid, account_named_by(secret), account_uid_named_by(secret))


def make_controller(context: ControllerContext) -> Group:
    """
    The entry point of the token controller; its options are :class:`.TokenOptions`.

    :raises ControllerDisabled: if there is no signing key
    :raises OptionError: if a file cannot be used
    """
    options = context.read(TokenOptions)
    if not options.service_account_private_key_file:
        raise ControllerDisabled("--service-account-private-key-file is not given")
    filler = TokenFiller(
        load_signer(options.service_account_private_key_file), root_ca(context.client, options.root_ca_file)
    )
    return TokenController(context, filler).group


class TokenController:
    """Syncs accounts and Secrets. Each has its own queue and workers."""

    def __init__(self, context: ControllerContext, filler: TokenFiller) -> None:
        workers = context.read(TokenOptions).concurrent_serviceaccount_token_syncs
        informers = context.informers
        self._filler = filler
        self._accounts, self._secrets = context.client.resource(V1ServiceAccount), context.client.resource(V1Secret)
        accounts, secrets = informers.informer_for(V1ServiceAccount), informers.informer_for(V1Secret)
        self._cached_accounts, self._cached_secrets = accounts.indexer, secrets.indexer
        self.accounts = Controller(
            "serviceaccount-token-accounts",
            self.sync_account,
            workers=workers,
            queue_name="serviceaccount_tokens_service",
            clock=context.clock,
        )
        self.secrets = Controller(
            "serviceaccount-token-secrets",
            self.sync_secret,
            workers=workers,
            queue_name="serviceaccount_tokens_service",  # Kubernetes gives both queues this name,
            clock=context.clock,
        )
        self.accounts.watch_mapped(accounts, lambda account: (str(AccountKey.of(account)),)).wait_for(secrets)
        self.secrets.watch_mapped(secrets, keys_of_secret).wait_for(accounts)
        self.group = Group(self.accounts, self.secrets)

    async def sync_account(self, key: str) -> None:
        """
        Delete the token Secrets of an account that is gone.

        :raises ClientError: if one could not be deleted
        """
        account = AccountKey.parse(key)
        namespace, name, uid = account.namespace, account.name, account.uid
        secrets = self._cached_secrets.by_index(NAMESPACE_INDEX, namespace)
        tokens = [secret for secret in secrets if is_token_of(secret, name, uid)]
        if not tokens or await self._find_account(namespace, name, uid) is not None:
            return
        errors = []
        for secret in tokens:
            try:
                # If it is gone, its name may belong to another Secret.
                await delete_same(self._secrets, secret)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    async def sync_secret(self, key: str) -> None:
        """
        Fill a Secret, or delete it if its account is gone. If the Secret is gone, remove it from its account's list.

        :raises ClientError: if the server refuses a request
        """
        wanted = SecretKey.parse(key)
        secret = self._cached_secrets.get_by_key(f"{wanted.namespace}/{wanted.name}")
        if secret is None or secret.metadata.uid != wanted.uid:
            if self._cached_account(wanted.namespace, wanted.account, wanted.account_uid) is not None:
                await self._forget(wanted)
            return
        account = await self._find_account(wanted.namespace, wanted.account, wanted.account_uid)
        if account is None:
            log.debug("token_without_account", secret=f"{wanted.namespace}/{wanted.name}", account=wanted.account)
            await delete_same(self._secrets, secret)
        elif self._filler.lacks(secret):
            await self._fill(secret, account)

    async def _fill(self, cached: V1Secret, account: V1ServiceAccount) -> None:
        meta = cached.metadata
        try:
            # The cache may be old, and an existing token must not be replaced.
            fresh = await self._secrets.get(meta.name, meta.namespace)
            if fresh.metadata.resource_version == meta.resource_version:
                await self._secrets.update(self._filler.filled(fresh, account))
        except (NotFound, Conflict):
            return  # an event with its new state will come

    async def _forget(self, gone: SecretKey) -> None:
        """Remove a Secret that is gone from its account's list."""
        try:
            account = await self._accounts.get(gone.account, gone.namespace)
        except NotFound:
            return
        if gone.account_uid not in ("", account.metadata.uid):
            return
        left = [reference for reference in account.secrets or () if reference.name != gone.name]
        if len(left) == len(account.secrets or ()):
            return
        account = copy.copy(account)
        account.secrets = left or None
        try:
            await self._accounts.update(account)
        except NotFound:
            return

    def _cached_account(self, namespace: str, name: str, uid: str) -> V1ServiceAccount | None:
        account = self._cached_accounts.get_by_key(f"{namespace}/{name}")
        return account if account is not None and uid in ("", account.metadata.uid) else None

    async def _find_account(self, namespace: str, name: str, uid: str) -> V1ServiceAccount | None:
        """Return an account. If the cache does not have it, it is read from the server."""
        cached = self._cached_account(namespace, name, uid)
        if cached is not None:
            return cached
        try:
            account = await self._accounts.get(name, namespace)
        except NotFound:
            return None
        return account if uid in ("", account.metadata.uid) else None


def keys_of_secret(secret: V1Secret) -> tuple[str, ...]:
    """Return the key of a token Secret that names an account; nothing for other Secrets."""
    key = SecretKey.of(secret)
    return (str(key),) if is_token_secret(secret) and key.account else ()
