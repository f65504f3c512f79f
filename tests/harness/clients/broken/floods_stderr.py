import sys

from polite import hello, read, write

hello()
while True:
    request = read()
    for number in range(20000):
        sys.stderr.write(f"line {number} of a flood of words that nobody will ever read to its end\n")
    sys.stderr.flush()
    write(id=request["id"], ok={"hashes": []})
