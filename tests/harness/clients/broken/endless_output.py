import sys

from polite import hello, read

hello()
read()
while True:
    sys.stdout.buffer.write(b"x" * 65536)
