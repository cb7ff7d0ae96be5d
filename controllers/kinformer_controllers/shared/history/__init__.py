"""ControllerRevisions: the earlier and current pod templates of a DaemonSet or a StatefulSet.

====================  ====================================================================================
:mod:`hashing`        hashes of templates, in letters that are allowed in names
:mod:`template`       the hash of a pod template, as in a ReplicaSet's name
:mod:`revisions`      the names, the equality and the order of revisions. No I/O
:mod:`control`        lists, creates, renumbers and deletes revisions on a server
====================  ====================================================================================
"""
