"""The release of tacit, in a module that needs nothing."""

__version__ = "0.1.0"
