"""What a run can be written as, made from its results file alone; :mod:`reports.formats.table` lists the formats."""
