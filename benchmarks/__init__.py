"""Measurements: each module has a DESCRIPTION and main(arguments) -> exit code; `tacit bench NAME` runs it."""
