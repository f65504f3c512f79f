import os

from polite import hello, pause, read

hello()
read()
os.close(1)
pause()
