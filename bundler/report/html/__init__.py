"""One self-contained HTML page: it fetches nothing, runs no script, and prints."""
