"""The machine-readable forms of the specification: Kaitai Struct descriptions and dissectors for Wireshark."""
