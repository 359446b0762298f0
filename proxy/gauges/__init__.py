"""What a server's own `/metrics` says: the names it uses, and what its series add up to. Pure."""
