"""The reference client: every operation of the contract, written to be read."""
