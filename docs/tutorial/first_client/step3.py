import json
import sys


def hello(**_):
    return {"name": "first", "version": "1", "language": "Python", "operations": [], "releases": ["0.5.6"]}


def state(**_):
    return {"connections": 0}


def bye(**_):
    return {}


OPERATIONS = {"hello": hello, "state": state, "bye": bye}


def answer(op, args):
    if op not in OPERATIONS:
        return {"unsupported": {"reason": f"there is no {op} yet"}}
    return {"ok": OPERATIONS[op](**args)}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], **answer(asked["op"], asked["args"])}), flush=True)
    if asked["op"] == "bye":
        break
