"""What runs for long: the coordinator, the sites, what they keep on disk, and what they are told by configuration."""
