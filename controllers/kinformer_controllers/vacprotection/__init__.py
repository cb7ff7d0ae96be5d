"""The protection of VolumeAttributesClasses: one that claims or volumes use is not deleted."""
