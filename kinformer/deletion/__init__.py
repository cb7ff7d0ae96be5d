"""What goes when something else goes: the decisions of the garbage collector and of the namespace controller. No I/O.

The controllers take them from what caches and live reads say, the embedded server's own loops from its storage.

====================  ====================================================================================
:mod:`heads`          the part of an object that says whose it is, and whether it is on its way out
:mod:`graph`          who depends on whom, and what is to be looked at when that changes
:mod:`absent`         owners that are known not to be there
:mod:`verdict`        what becomes of an object whose owners were looked at
:mod:`emptying`       in which order a namespace is emptied
====================  ====================================================================================
"""
