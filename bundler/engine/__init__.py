"""How a bundle is run from outside: in a container, or by this machine's own Python."""
