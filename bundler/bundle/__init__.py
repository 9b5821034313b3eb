"""A bundle: one experiment, the replayer and a runtime as an image; made from a folder, opened again."""
