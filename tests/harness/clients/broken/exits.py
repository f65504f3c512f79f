import sys

from polite import hello, read

hello()
read()
sys.exit(3)
