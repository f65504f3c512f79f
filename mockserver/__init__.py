"""Servers that speak the wires of LMCache as the real ones do, until a fault plan says otherwise."""
