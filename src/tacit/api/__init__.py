"""What programs use: a client that asks a running coordinator. Neither Spark nor Java is needed for it."""
