"""Leaks from two handlers, and from an extension that a third calls, in turn. It takes the
number of rounds, and waits for a line on standard input after them if there is one more
argument."""
import json
import os
import sys

import leaky

cache = []


class Handlers:
    def first(self, n):
        cache.append(bytearray(20_000))

    def second(self, n):
        cache.append(bytearray(30_000))

    def third(self, n):
        leaky.grow(10_000)


def churn(n):
    return json.loads(json.dumps({"n": n, "list": list(range(50))}))


def dispatch(handlers, n):
    name = ("first", "second", "third")[n % 3]
    leaky.call_back(lambda: getattr(handlers, name)(n))
    churn(n)


def main(rounds):
    handlers = Handlers()
    for n in range(rounds):
        dispatch(handlers, n)


main(int(sys.argv[1]))
if len(sys.argv) > 2:
    print("ready", flush=True)
    sys.stdin.readline()
    main(int(sys.argv[1]))
    print("done", flush=True)
    sys.stdin.readline()
os._exit(0)
