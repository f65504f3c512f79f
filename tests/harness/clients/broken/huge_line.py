from polite import hello, pause, raw, read

hello()
read()
raw(b'{"id": 2, "ok": {"hashes": ["' + b"0" * (17 << 20) + b'"]}}\n')
pause()
