import signal

from polite import hello

signal.signal(signal.SIGTERM, signal.SIG_IGN)
hello()
while True:
    signal.pause()
