"""Others: the namespaces of other members, so that a watch can ask the server to leave their objects out.

An API server cannot be asked for the objects of thousands of namespaces in one watch, but it can be asked for those of
all namespaces except some: ``fieldSelector=metadata.namespace!=team-1,metadata.namespace!=team-2``. This works for each
kind and in each version of Kubernetes. The excepted namespaces are those of other members that had the most objects in
lists and events so far, as many as fit into a URL. Events of the others come all the same, and are not decoded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Final

__all__ = ("Others",)

#: Characters of a selector. Escaped in a URL they are about a quarter more; proxies take 8 KiB.
_LONGEST: Final = 4096
_CONDITION: Final = "metadata.namespace!="
#: What Kubernetes allows. A name that no server would make is not worth the escapes that it needs.
_is_name: Final = re.compile(r"[a-z0-9-]{1,63}").fullmatch


class Others:
    """
    :param is_ours: whether a namespace belongs to this member now
    :ivar seen: how many objects and events of each namespace were left out here
    """

    __slots__ = ("_is_ours", "seen")

    def __init__(self, is_ours: Callable[[str], bool], seen: Counter[bytes]) -> None:
        self._is_ours = is_ours
        self.seen = seen

    def note(self, namespace: str) -> None:
        """Note that an object of a list was left out."""
        self.seen[namespace.encode()] += 1

    def selector(self) -> str:
        """The field selector that leaves them out; empty if there are none."""
        conditions: list[str] = []
        left = _LONGEST
        for namespace, _ in self.seen.most_common():
            name = namespace.decode()
            if self._is_ours(name) or not _is_name(name):
                continue
            left -= len(_CONDITION) + len(name) + 1
            if left < 0:
                # So that names which were busy once give way to those that are busy now.
                for each in self.seen:
                    self.seen[each] //= 2
                break
            conditions.append(_CONDITION + name)
        return ",".join(conditions)
