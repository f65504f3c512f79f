from polite import hello, pause, raw, read

hello()
read()
raw(b'{"id": 2, "ok": {"hash')
pause()
