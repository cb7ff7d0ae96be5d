"""An operator for objects of the kind Sample."""
