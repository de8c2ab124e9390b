"""The version of the server that the client belongs to, in the spelling of PEP 440. A test compares them."""

__version__ = "0.1.0rc1"
