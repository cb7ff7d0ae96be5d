"""What every controller that owns pods needs, each part usable alone.

====================  ====================================================================================
:mod:`expectations`   what was asked for and not yet seen, so that a stale cache makes no pod too many
:mod:`claim`          taking pods that match and letting go those that no longer do, by owner reference
:mod:`control`        pods made from a template, deleted and patched, each with its Event
:mod:`slow_start`     many calls in batches that grow while they succeed
:mod:`batches`        pods made and removed by the dozen, expected as they are
:mod:`ranking`        which pods go first when there are too many
:mod:`status`         ready, available, active, terminal, terminating
:mod:`owners`         whose a pod is, by its controller reference
:mod:`handlers`       which owners a change of a pod concerns, and what of their expectations it crosses off
:mod:`index`          pods by their controller, by their node
:mod:`conditions`     an object's conditions, one of a type
====================  ====================================================================================
"""
