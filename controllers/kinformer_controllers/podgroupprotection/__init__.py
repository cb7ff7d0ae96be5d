"""The protection of PodGroups: one that pods belong to is not deleted."""
