"""Three handlers of a service; two of them keep what they make. It ends as a service that is
killed does: without giving anything back."""
import json
import os

cache = {}
history = []


def search(request):
    return json.loads(json.dumps(request))


def preview(request):
    cache[request["id"]] = bytes(20_000)


def audit(request):
    history.append("x" * 6_000 + str(request["id"]))


HANDLERS = [search, preview, audit]


def dispatch(number):
    HANDLERS[number % 3]({"id": number, "words": ["leak", "heap"] * 20})


def serve(first, last):
    for number in range(first, last):
        dispatch(number)


serve(0, 60)
serve(60, 600)
os._exit(0)
