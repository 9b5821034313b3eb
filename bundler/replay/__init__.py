"""Drive confined workers over an experiment's cells. The only place with processes."""
