"""Cascading deletion: the decisions of the garbage collector and of the namespace controller, without I/O.

The controllers make them from caches and live reads, and the embedded server's own loops from its storage.

====================  ====================================================================================
:mod:`heads`          the part of an object's metadata that these decisions need
:mod:`graph`          the dependents of each object, and the objects to process when they change
:mod:`verdict`        decides about an object whose owners were looked up
:mod:`emptying`       the order in which a namespace is emptied
====================  ====================================================================================
"""
