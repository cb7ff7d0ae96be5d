"""Waiting for a cache to show a controller's own last writes, before the controller acts again.

====================  ====================================================================================
:mod:`expectations`   expected creations and deletions that the cache has not shown yet
:mod:`consistency`    written resource versions that the caches have not reached yet
====================  ====================================================================================
"""
