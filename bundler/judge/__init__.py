"""What decides: comparison, outcome, controls, verdict. Values in, values out; no processes, no files."""
