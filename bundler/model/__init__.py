"""Frozen types, without I/O: what is declared, what was seen, and what it is held against."""
