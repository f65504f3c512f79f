"""The reference storage plugin, each time with one realistic defect."""
