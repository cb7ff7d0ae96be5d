"""Graph: the owners and dependents of all objects. It says which objects to process when they change.

Its input is what was seen of objects (:meth:`Graph.see`, :meth:`Graph.gone`), and which objects were found not to exist
(:meth:`Graph.absent`). Its output are objects to process, passed to an :class:`Agenda`. The graph does not decide about
an object. It may be out of date, so the code that processes an object must ask the server first.

An owner that no event has shown yet has a *virtual* node, made from the reference of a dependent. Everything in a
reference may be wrong except the uid. So the kind, namespace and name of a virtual node are a guess. If they turn out
to be wrong, those in the reference of another dependent are tried.

The rules are those of kube-controller-manager's dependency graph builder. They differ where that one waits for ever:
for objects with the finalizers of both orphan and foreground deletion, for objects that wait for each other in a
circle, and for references that change while their uid stays the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from kinformer.lru import LRU

__all__ = ("Agenda", "Graph", "Identity", "Kind", "Node", "Phase", "ReferenceLike")


#: How many owners that were found absent are remembered.
_REMEMBERED: Final = 500


class Identity(NamedTuple):
    """
    The identity of an object, or of the object that a reference names.

    :param api_version: the group and version as in references: ``apps/v1``
    :param namespace: ``""`` for objects without a namespace
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """The same text as in Kubernetes' logs and Events."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {self.uid}]"


class ReferenceLike(Protocol):
    """An owner reference: a model or a :class:`~kinformer.deletion.heads.Reference`."""

    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def block_owner_deletion(self) -> bool | None: ...


class Kind(NamedTuple):
    """The kind of an object. All objects of a kind share one instance."""

    api_version: str
    kind: str


class Phase(enum.Enum):
    """The stage of an object's life."""

    VIRTUAL = enum.auto()
    """No event has shown the object. A dependent names it."""
    LIVING = enum.auto()
    LEAVING = enum.auto()
    """The object is being deleted, and the collector has nothing to do for it."""
    ORPHANING = enum.auto()
    """The object is being deleted, and waits until its dependents are orphaned."""
    WAITING = enum.auto()
    """The object is being deleted, and waits until its dependents are gone."""


class Node:
    """One object in the graph."""

    __slots__ = ("dependents", "kind", "name", "namespace", "owners", "phase", "uid")

    def __init__(
        self, kind: Kind, namespace: str, name: str, uid: str, owners: Sequence[ReferenceLike], phase: Phase
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.owners = owners
        #: The objects that name it as an owner; None while there are none, which holds for nearly all objects.
        #: In the order in which they came, so that the same changes lead to the same deletions, in the same order.
        self.dependents: dict[Node, None] | None = None
        self.phase = phase

    def __repr__(self) -> str:
        return f"<Node {self.phase.name} {self.identity}>"

    @property
    def identity(self) -> Identity:
        return Identity(*self.kind, self.namespace, self.name, self.uid)

    @property
    def is_virtual(self) -> bool:
        return self.phase is Phase.VIRTUAL

    @property
    def is_waiting(self) -> bool:
        """Whether the object waits until its dependents are gone."""
        return self.phase is Phase.WAITING

    @property
    def is_being_deleted(self) -> bool:
        return self.phase is not Phase.LIVING and self.phase is not Phase.VIRTUAL

    def blocking(self) -> list[Node]:
        """The other objects that its foreground deletion waits for."""
        return [
            dependent
            for dependent in self.dependents or ()
            if dependent is not self
            and any(owner.uid == self.uid and owner.block_owner_deletion for owner in dependent.owners)
        ]

    def holding_up(self) -> list[Node]:
        """
        Like :meth:`blocking`, but empty if all of those wait as well, and in the end for this object.

        In such a circle, one object must be deleted first.
        """
        blocking = self.blocking()
        return [] if all(node.is_waiting for node in blocking) and self._waits_for_itself(blocking) else blocking

    def _waits_for_itself(self, blocking: list[Node]) -> bool:
        seen: set[Node] = set()
        ahead = list(blocking)
        while ahead:
            node = ahead.pop()
            if node is self:
                return True
            if node not in seen and node.is_waiting:
                seen.add(node)
                ahead += node.blocking()
        return False


class Agenda(Protocol):
    """Collects what is to be done next. The graph calls it."""

    def look_at(self, node: Node, /) -> None:
        """Check whether this object is to be deleted, or has finished waiting."""

    def look_later(self, node: Node, /) -> None:
        """Like :meth:`look_at`, but not at once."""

    def orphan(self, node: Node, /) -> None:
        """Orphan the dependents of this object."""

    def misplaced(self, node: Node, owner: ReferenceLike, /) -> None:
        """Tell the user that this object names an owner that is in another namespace."""


class Graph:
    """
    All objects and their owners.

    :param agenda: called with what is to be done
    :ivar nodes: the nodes by uid
    :ivar absents: the owners that are known not to exist, as keys. An owner that was once found absent stays absent,
        because no uid is used twice
    :ivar changes: how often it was told what was seen
    """

    def __init__(self, agenda: Agenda) -> None:
        self.nodes: dict[str, Node] = {}
        self.absents: LRU[Identity, bool] = LRU(_REMEMBERED)
        self.changes = 0
        self._agenda = agenda

    # --- what was seen

    def see(
        self, kind: Kind, namespace: str, name: str, uid: str, owners: Sequence[ReferenceLike], phase: Phase
    ) -> None:
        """Note that an object exists: it is new or has changed."""
        self.changes += 1
        node = self.nodes.get(uid)
        if node is None:
            node = Node(kind, namespace, name, uid, owners, Phase.LIVING)
            self.nodes[uid] = node
            if owners:
                self._link(node, owners)
            if phase is not Phase.LIVING:
                self._move_on(node, phase)
            return
        before = node.owners
        if owners is not before and owners != before:
            if node.phase is Phase.VIRTUAL:
                self._reveal(node, kind, namespace, name)
            self._change_owners(node, before, owners)
        elif node.phase is Phase.VIRTUAL:
            self._reveal(node, kind, namespace, name)
        if phase is not node.phase:
            self._move_on(node, phase)

    def gone(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Note that an object was deleted."""
        self.changes += 1
        node = self.nodes.get(uid)
        if node is None:
            return
        if node.phase is Phase.VIRTUAL:
            self._reveal(node, kind, namespace, name)
        self._remove(node, Identity(*kind, namespace, name, uid))

    def absent(self, identity: Identity) -> None:
        """
        Note that the server does not have this very object.

        There may still be an object with this uid, because the reference that named it so may be wrong.
        """
        node = self.nodes.get(identity.uid)
        if node is None:
            return
        if not node.is_virtual and node.identity != identity:
            matching, _ = _by_reference(node, identity)
            self._tell_absent(identity, matching)
            return
        if node.is_virtual:
            matching, others = _by_reference(node, identity)
            if others:
                self._tell_absent(identity, matching)
                if node.identity == identity and (guess := _next_guess(others, identity)) is not None:
                    self._rename(node, Kind(guess.api_version, guess.kind), guess.namespace, guess.name)
                    self._agenda.look_later(node)
                return
        self._remove(node, identity)

    def _tell_absent(self, identity: Identity, dependents: list[Node]) -> None:
        if dependents:
            self.absents.put(identity, True)
            self._look_at_all(dependents)

    # --- the steps

    def _reveal(self, node: Node, kind: Kind, namespace: str, name: str) -> None:
        """Handle the first sight of a virtual node's object: process the dependents whose references were wrong."""
        guessed, seen = node.identity, Identity(*kind, namespace, name, node.uid)
        node.phase = Phase.LIVING
        self._rename(node, kind, namespace, name)
        if guessed != seen:
            _, mistaken = _by_reference(node, seen)
            self._look_at_all(mistaken)
            for dependent in mistaken:
                if namespace and dependent.namespace != namespace:
                    self._tell_misplaced(dependent, node.uid)

    @staticmethod
    def _rename(node: Node, kind: Kind, namespace: str, name: str) -> None:
        node.kind, node.namespace, node.name = kind, namespace, name

    def _move_on(self, node: Node, phase: Phase) -> None:
        node.phase = phase
        if phase is Phase.ORPHANING:
            self._agenda.orphan(node)
        elif phase is Phase.WAITING:
            self._look_at_all(node.dependents or ())
            self._agenda.look_at(node)

    def _link(self, node: Node, owners: Iterable[ReferenceLike]) -> None:
        """Add a node to its owners. Owners that are not in the graph get virtual nodes."""
        doubtful = False
        for reference in owners:
            owner = self.nodes.get(reference.uid)
            if owner is None:
                kind = Kind(reference.api_version, reference.kind)
                owner = Node(kind, node.namespace, reference.name, reference.uid, (), Phase.VIRTUAL)
                self.nodes[reference.uid] = owner
                owner.dependents = {node: None}
                self._agenda.look_at(owner)
                continue
            if owner.dependents is None:
                owner.dependents = {node: None}
            else:
                owner.dependents[node] = None
            if not doubtful:
                doubtful = self._is_doubtful(node, reference, owner)
        if doubtful:
            self._agenda.look_at(node)

    def _is_doubtful(self, node: Node, reference: ReferenceLike, owner: Node) -> bool:
        """Whether a reference may name another object than the one with its uid."""
        if owner.namespace and owner.namespace != node.namespace:
            if not owner.is_virtual:
                self._agenda.misplaced(node, reference)
            return True
        if not _matches(reference, owner.kind, owner.name, owner.uid):
            return True
        # A virtual owner without a namespace was named by an object without one. The owner may still belong to a
        # namespace, and then that reference is invalid (kubernetes/kubernetes#98040).
        return owner.is_virtual and owner.namespace != node.namespace

    def _change_owners(self, node: Node, before: Sequence[ReferenceLike], after: Sequence[ReferenceLike]) -> None:
        old = {reference.uid: reference for reference in before}
        new = {reference.uid: reference for reference in after}
        # An owner may have waited for this change: the object no longer blocks its deletion.
        for uid, reference in old.items():
            if reference.block_owner_deletion:
                now = new.get(uid)
                if (now is None or not now.block_owner_deletion) and (owner := self.nodes.get(uid)) is not None:
                    self._agenda.look_at(owner)
        node.owners = after
        left = set(old)
        added = []
        for reference in after:
            if reference.uid in left:
                left.remove(reference.uid)
                if _is_same(reference, old[reference.uid]):
                    continue
            # A reference that has changed but kept its uid may have become right, or wrong.
            added.append(reference)
        self._link(node, added)
        self._unlink(node, left)

    def _unlink(self, node: Node, owners: Iterable[str]) -> None:
        for uid in owners:
            owner = self.nodes.get(uid)
            if owner is not None and owner.dependents is not None:
                owner.dependents.pop(node, None)
                if not owner.dependents:
                    owner.dependents = None

    def _remove(self, node: Node, identity: Identity) -> None:
        del self.nodes[node.uid]
        self._unlink(node, [reference.uid for reference in node.owners])
        if node.dependents:
            self.absents.put(identity, True)
            self._look_at_all(node.dependents)
        for reference in node.owners:
            owner = self.nodes.get(reference.uid)
            if owner is not None and owner.is_waiting:
                self._agenda.look_at(owner)

    def _look_at_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._agenda.look_at(node)

    def _tell_misplaced(self, node: Node, owner: str) -> None:
        for reference in node.owners:
            if reference.uid == owner:
                self._agenda.misplaced(node, reference)
                return


def _is_same(one: ReferenceLike, other: ReferenceLike) -> bool:
    return (one.api_version, one.kind, one.name) == (other.api_version, other.kind, other.name)


def _matches(reference: ReferenceLike, kind: Kind, name: str, uid: str) -> bool:
    return (
        reference.uid == uid
        and reference.name == name
        and reference.kind == kind.kind
        and reference.api_version == kind.api_version
    )


def _by_reference(node: Node, identity: Identity) -> tuple[list[Node], list[Node]]:
    """
    Divide the dependents of a node: those whose reference names exactly this object, and those that name another one.

    A dependent with two references to the uid may be in both lists.
    """
    kind = Kind(identity.api_version, identity.kind)
    matching: list[Node] = []
    others: list[Node] = []
    for dependent in node.dependents or ():
        if identity.namespace and identity.namespace != dependent.namespace:
            others.append(dependent)
            continue
        found = [
            _matches(reference, kind, identity.name, identity.uid)
            for reference in dependent.owners
            if reference.uid == identity.uid
        ]
        if any(found):
            matching.append(dependent)
        if not all(found):
            others.append(dependent)
    return matching, others


def _next_guess(dependents: Iterable[Node], absent: Identity) -> Identity | None:
    """
    The next guess of what the object is, from the references of dependents that do not name the absent one.

    Guesses are tried in a fixed order, and from the beginning again after the last one.
    """
    guesses = set()
    for dependent in dependents:
        for reference in dependent.owners:
            if reference.uid != absent.uid:
                continue
            namespace = dependent.namespace
            if not absent.namespace and (reference.api_version, reference.kind) == absent[:2]:
                namespace = ""  # by now that kind is known to have no namespaces
            guesses.add(Identity(reference.api_version, reference.kind, namespace, reference.name, absent.uid))
    guesses.discard(absent)
    ordered = sorted(guesses, key=_guess_order)
    later = (guess for guess in ordered if _guess_order(guess) > _guess_order(absent))
    return next(later, ordered[0] if ordered else None)


def _guess_order(identity: Identity) -> tuple[str, ...]:
    return (identity.kind, identity.api_version, identity.namespace, identity.name, identity.uid)
