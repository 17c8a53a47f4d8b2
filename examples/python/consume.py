"""Consumes a queue with Python's standard library only."""

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("QUEEN_URL", "http://localhost:6632")
QUEUE = os.environ["QUEUE"]
GROUP = os.environ.get("GROUP", "python")
left = int(os.environ.get("COUNT", -1))


def call(method, path, body=None):
    """The answer as JSON, or None for a 204."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    with urllib.request.urlopen(request, timeout=40) as answer:
        return None if answer.status == 204 else json.load(answer)


def handle(message):
    print("got", json.dumps(message["data"]), flush=True)


while left != 0:
    query = urllib.parse.urlencode({"consumerGroup": GROUP, "batch": 1, "wait": "true", "timeout": 10000})
    try:
        popped = call("GET", f"/api/v1/pop/queue/{urllib.parse.quote(QUEUE, safe='')}?{query}")
    except urllib.error.HTTPError as error:
        print("pop answered", error.code, error.read().decode(), flush=True)
        time.sleep(1)
        continue
    if popped is None:
        continue
    acks = []
    for message in popped["messages"]:
        handle(message)
        acks.append({key: message[key] for key in ("transactionId", "partitionId", "leaseId")} | {"status": "completed"})
    call("POST", "/api/v1/ack/batch", {"consumerGroup": GROUP, "acknowledgments": acks})
    left -= len(acks)
