"""What keeps a controller from acting on a cache that does not know yet what it did last.

====================  ====================================================================================
:mod:`expectations`   what was asked for and not yet seen: counted, or known one by one
:mod:`consistency`    the versions that were written, until the caches have come to them
====================  ====================================================================================
"""
