"""Summaries of streams: small, of known error, and mergeable."""
