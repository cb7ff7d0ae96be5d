"""The controller of ServiceCIDRs: keeps a range of Service addresses until no address needs it."""
