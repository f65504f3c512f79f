from polite import hello, pause, read

hello()
read()
pause()
