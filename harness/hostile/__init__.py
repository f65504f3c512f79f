"""What peers do to an ``lm://`` server that no client means to do: a table of acts, and what each must leave as it was."""
