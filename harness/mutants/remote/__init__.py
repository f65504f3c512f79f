"""The reference connector with one realistic defect each. They run in the interpreter of the engine, beside the real lmcache."""
