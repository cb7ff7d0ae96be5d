"""What several controllers have in common. A controller imports from here, never from another controller."""
