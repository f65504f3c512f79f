import signal

from polite import describe, write

write(id=1, ok=describe())
signal.pause()
