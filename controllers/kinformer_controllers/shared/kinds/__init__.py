"""Watching every kind that a server serves, including custom resources.

====================  ====================================================================================
:mod:`monitor`        repeats discovery, and adds an event handler for each kind that it finds
:mod:`informers`      an informer of the metadata of any kind, shared by all its users
:mod:`mapping`        finds the resource of a kind, for references that name kinds
====================  ====================================================================================
"""
