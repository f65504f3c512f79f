"""The mock server with one realistic defect each: what the cases that judge servers must find."""
