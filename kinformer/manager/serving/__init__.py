"""What the manager's endpoint serves, and to whom: routes, certificates, and who may read what."""
