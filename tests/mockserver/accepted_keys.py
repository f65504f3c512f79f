"""Keys that servers take."""

KEYS = {
    "0.3.1": "vllm@model@1@0@ab",
    "0.3.3": "vllm@model@1@0@12",
    "0.3.5": "vllm@model@1@0@ab",
    "0.3.7": "vllm@model@1@0@ab",
    "0.3.12": "vllm@model@1@0@ab@half",
    "0.3.13": "model@1@0@ab@half",
    "0.4.1": "model@1@0@ab@half",
    "0.4.5": "model@1@0@ab@half",
    "0.5.6": "model@1@0@ab@half",
}
"""Releases of every generation of the wire, each with a key that it accepts; a test says whether one is missing."""
