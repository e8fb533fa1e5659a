"""Calls functions in many ways, for as long as it is told."""
import functools
import json
import sys
import time

END = time.time() + float(sys.argv[1])


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def counted(n):
    for i in range(n):
        yield i * i


def nested(n):
    yield from counted(n)
    return n


class Key:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n

    @property
    def doubled(self):
        return self.n * 2

    def __call__(self, text):
        return json.loads(json.dumps({"n": self.n, "text": [text] * 10}))


@functools.lru_cache(maxsize=10)
def cached(n):
    return sum(nested(n))


def raising(n):
    try:
        if n == 0:
            raise ValueError(n)
        return raising(n - 1)
    except ValueError:
        return n
    finally:
        fibonacci(3)


def main():
    print("running", flush=True)
    made = {}
    while time.time() < END:
        fibonacci(8)
        sorted([Key(i % 7) for i in range(20)])
        list(map(lambda n: cached(n), range(20)))
        [Key(i).doubled for i in range(20)]
        Key(3)("text")
        raising(5)
        exec("def made(n):\n  return [x for x in range(n)]\nmade(50)", made)
        max((str(i) for i in range(30)), key=lambda s: len(s) + fibonacci(4))


main()
