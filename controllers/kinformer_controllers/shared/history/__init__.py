"""ControllerRevisions: the templates that a DaemonSet or a StatefulSet has had.

====================  ====================================================================================
:mod:`revisions`      what a revision is called, its hash, which are equal, in which order they came. No I/O
:mod:`control`        revisions listed, made, renumbered and deleted on a server
====================  ====================================================================================
"""
