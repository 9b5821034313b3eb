"""What a person reads: text in, nothing decided here."""
