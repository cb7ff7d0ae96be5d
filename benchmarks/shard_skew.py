"""How unevenly ranges of namespaces lie over the members of a group, and what a table of so many ranges costs.

Nothing runs: objects are shared out by the functions that members use, in 40 groups with other names. The sizes of the
namespaces follow Zipf's law: the n-th largest has 1/n**s of the objects of the largest. The figures:

- the skew: how many times its even share the member with the most objects holds, as the median and the worst of the
  groups, for sizes that are equal (s=0), less and more unequal (s=0.8, s=1), and for the number of ranges alone;
- the bytes of the table, and the CPU time to compute the owners of all ranges, and to read and write the table.
"""

from __future__ import annotations

from collections import Counter
from statistics import median

from kinformer.bench.measure import Stopwatch
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.sharding import Ranges, Table, assignment
from kinformer.sharding.load import skew

_GROUPS, _TIMES = 40, 50


async def measure(shards: int, members: int, namespaces: int) -> Figures:
    """
    :param shards: the number of ranges
    :param members: the number of members
    :param namespaces: the number of namespaces
    """
    figures: Figures = {}
    watch = Stopwatch()
    owners = [assignment(shards, _names(group, members)) for group in range(_GROUPS)]
    assigning = watch.cpu / _GROUPS
    counts = [skew(Counter(each_group).values()) for each_group in owners]
    figures["skew of ranges"] = f"{median(counts):.2f}, {max(counts):.2f}"
    of = Ranges(shards).of
    for exponent in (0, 0.8, 1):
        sizes = [round(1e6 / number**exponent) for number in range(1, namespaces + 1)]
        found = []
        for group, its_owners in enumerate(owners):
            load = Counter(dict.fromkeys(its_owners, 0))
            for number, size in enumerate(sizes):
                load[its_owners[of(f"team-{group}-{number}")]] += size
            found.append(skew(load.values()))
        figures[f"skew, s={exponent}"] = f"{median(found):.2f}, {max(found):.2f}"
    table = Table(owners[0])
    annotations = table.annotations()
    figures["bytes of the table"] = sum(len(name) + len(text) for name, text in annotations.items())
    figures["ms to assign"] = round(assigning * 1e3, 2)
    for what, call in (("read", lambda: Table.read(annotations)), ("write", table.annotations)):
        watch = Stopwatch()
        for _ in range(_TIMES):
            call()
        figures[f"ms to {what}"] = round(watch.cpu / _TIMES * 1e3, 2)
    return figures


def _names(group: int, members: int) -> list[str]:
    return [f"kinformer-manager-shards-manager-{group}-{number}-3f2a9c71" for number in range(members)]


CASES = {
    "shard-skew": Case(
        "How unevenly namespaces lie over four members, and what the table costs",
        measure,
        each("shards", (64, 256, 1024), members=4, namespaces=1000),
        each("shards", (64, 1024), members=4, namespaces=100),
        ("ms to read",),
        lower_is_better=True,
        is_repeated=False,
    )
}
