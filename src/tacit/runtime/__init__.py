"""What runs: a site's panes and windows, its agent, the coordinator's service, their stores."""
