"""Tells its own stack in many situations, and stops by a signal in each, after an
allocation of a size that no other has."""
import asyncio
import itertools
import json
import os
import signal
import sys
import threading

signal.signal(signal.SIGUSR1, signal.SIG_IGN)


STOPS = next(n for n, line in enumerate(open(__file__), 1) if line.endswith("# stops\n"))


sizes = itertools.count(5_000_000, 4096)


def name(code):
    return getattr(code, "co_qualname", code.co_name)


def here():
    f = sys._getframe(1)
    stack = []
    while f:
        stack.append([name(f.f_code), f.f_code.co_filename, f.f_lineno])
        f = f.f_back
    stack.insert(0, [name(here.__code__), here.__code__.co_filename, STOPS])
    print(json.dumps(stack), flush=True)
    signal.pthread_kill(threading.get_ident(), bytearray(next(sizes)) and signal.SIGUSR1)  # stops


def recursion(n):
    if n == 0:
        return here()
    return recursion(
        n - 1
    )


def generator(n):
    yield n
    here()
    yield n + 1


class Noisy:
    def __del__(self):
        here()

    def __eq__(self, other):
        here()
        return True

    def __enter__(self):
        return self

    def __exit__(self, *what):
        here()

    @property
    def value(self):
        here()
        return 1

    @staticmethod
    def static():
        here()


async def inner():
    await asyncio.sleep(0)
    here()


async def outer():
    await inner()
    await asyncio.gather(inner(), inner())


def handler(signum, frame):
    here()


def raising():
    try:
        raise ValueError
    except ValueError:
        here()
    finally:
        here()


def tracing(frame, event, arg):
    return None


def main():
    here()
    recursion(3)
    recursion(150)
    for _ in generator(1):
        pass
    list(generator(1))
    Noisy() == 1
    Noisy().value
    Noisy.static()
    with Noisy():
        pass
    sorted([2, 1], key=lambda n: here() or n)
    list(map(lambda n: here(), [1]))
    [here() for _ in range(1)]
    {here(): 1 for _ in range(1)}
    exec("\n\nhere()", globals())
    exec(compile("def f():\n  here()\n" + "\n" * 300 + "f()", "<made>", "exec"), globals())

    class Body:
        here()

    asyncio.run(outer())
    signal.signal(signal.SIGUSR2, handler)
    os.kill(os.getpid(), signal.SIGUSR2)
    raising()
    sys.settrace(tracing)
    recursion(1)
    sys.settrace(None)
    t = threading.Thread(target=recursion, args=(2,))
    t.start()
    t.join()
    made = {}
    for i in range(20):
        made["here"] = here
        exec("def g%d():\n%s  here()\ng%d()" % (i, "\n" * i, i), made)
        del made["g%d" % i]
    print("done", flush=True)


main()
