"""Code that several controllers use. A controller may import from here, but never from another controller."""
