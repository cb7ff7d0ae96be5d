"""ControllerRevisions: the earlier and current pod templates of a DaemonSet or a StatefulSet.

====================  ====================================================================================
:mod:`hashing`        Go's JSON, and hashes of templates, in letters that are allowed in names. No I/O
:mod:`revisions`      their names, equality and order; lists, creates, renumbers and deletes them on a server
====================  ====================================================================================
"""
