"""The kill matrix: which case finds which mutant. Start at ``run.run_mutants``."""
