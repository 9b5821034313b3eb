"""An experiment's folder: load it, check it, derive its candidates and prompts."""
