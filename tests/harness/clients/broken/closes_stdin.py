import os
import signal

from polite import describe, read, write

request = read()
os.close(0)
write(id=request["id"], ok=describe())
signal.pause()
