"""The attach/detach controller: attaches volumes to the nodes of their pods, and detaches them afterwards."""
