"""Following every kind that a server has, custom resources too.

====================  ====================================================================================
:mod:`monitor`        discovery, again and again, and a handler for each kind that it shows
:mod:`informers`      an informer of the metadata of any kind, one for all who follow it
:mod:`mapping`        which resource a kind is, for references that name kinds
====================  ====================================================================================
"""
