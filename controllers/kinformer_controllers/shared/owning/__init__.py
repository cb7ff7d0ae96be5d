"""What every controller that owns objects needs to find them, each part usable alone.

====================  ====================================================================================
:mod:`identity`       :class:`OwnerId`: an owner's key and uid
:mod:`owners`         whose a pod is, by its controller reference: kind, name and uid
:mod:`index`          objects by their controller (:func:`owned_by`), pods by their node
:mod:`claim`          taking what matches and letting go what no longer does, by owner reference
:mod:`handlers`       which owners a change of a pod concerns, and what of their expectations it crosses off
:mod:`status`         ready, available, active, terminal, terminating
:mod:`ranking`        which pods go first when there are too many
====================  ====================================================================================
"""
