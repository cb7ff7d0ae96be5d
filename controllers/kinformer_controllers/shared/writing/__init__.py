"""What controllers write, each part usable alone.

====================  ====================================================================================
:mod:`pods`           pods made from a template, deleted and patched, each with its Event
:mod:`slow_start`     many calls in batches that grow while they succeed
:mod:`batches`        :func:`write_children`: objects made and removed by the dozen, and expected as they are
:mod:`status`         :func:`write_status`: compared, tried again, never onto another object of the name
:mod:`conditions`     an object's conditions, one of a type, with the time of their last transition
:mod:`finalizers`     patches that put finalizers on and take them off
====================  ====================================================================================
"""
