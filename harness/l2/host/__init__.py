"""The program that holds a storage plugin: standard library only, any Python from 3.10, run by the path of this folder.

It is imported under a name of its own (see ``__main__``), so that nothing of it stands in the way of a plugin's modules.
"""
