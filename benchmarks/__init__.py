"""Benchmarks: each prints one table in one run. They measure; they assert nothing."""
