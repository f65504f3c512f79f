from polite import pause, read

read()
pause()
