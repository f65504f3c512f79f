import sys

from polite import hello, pause, raw, read

hello()
read()
raw(sys.argv[1].encode("utf-8", "surrogateescape"))
pause()
