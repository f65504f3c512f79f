import json
import sys


def hello(**_):
    return {"name": "first", "version": "1", "language": "Python", "operations": [], "releases": ["0.5.6"]}


OPERATIONS = {"hello": hello}


def answer(op, args):
    return {"ok": OPERATIONS[op](**args)}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], **answer(asked["op"], asked["args"])}), flush=True)
