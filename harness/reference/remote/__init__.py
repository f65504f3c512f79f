"""A remote connector that keeps every promise of ``docs/spec/connectors.md``, in files of a folder."""
