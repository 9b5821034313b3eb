"""The island: what runs inside the confined processes.

Nothing here imports the rest of bundler, so that a confined process never has the judge's code, an
experiment or evidence in its memory. The replay talks to these processes through ``wire`` alone.
"""
