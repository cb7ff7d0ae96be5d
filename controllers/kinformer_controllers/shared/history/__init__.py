"""ControllerRevisions: the templates that a DaemonSet or a StatefulSet has had.

====================  ====================================================================================
:mod:`hashing`        a hash of what a template says, in letters that may stand in a name
:mod:`revisions`      what a revision is called, which are equal, in which order they came. No I/O
:mod:`control`        revisions listed, made, renumbered and deleted on a server
====================  ====================================================================================
"""
