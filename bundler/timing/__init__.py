"""Whether a timing may be claimed: statistics and numbered rules. Pure; it measures and reads nothing."""
