"""Tells the texts of its variables, and stops by a signal."""
import json
import os
import signal

signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class Point:
    def __init__(self):
        self.x = 1
        self.name = "é日本😀"
        self.me = self


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 5
        self.b = [1]


class Both(Slots):
    def __init__(self):
        super().__init__()
        self.extra = None


def values(argument, *rest, keyword=3, **others):
    zero = 0
    one = 1
    minus = -5
    big = 2**100
    negative = -2**70
    limit = 2**30
    single = (1,)
    nothing = ()
    numbers = list(range(20))
    tree = {"a": 1, 2: [3, (4, "5")]}
    empty = {}
    deleted = {k: 1 for k in range(5)}
    del deleted[2]
    chosen = {7}
    frozen = frozenset([9])
    none_of_them = set()
    half = 1.5
    whole = 2.0
    large = 1e300
    small = 2.5e-7
    infinite = float("inf")
    raw = b"ab\x00\xff"
    nil = None
    true = True
    false = False
    ascii_text = "plain"
    quoted = 'it\'s "q"'
    latin = "é"
    wide = "日本"
    astral = "a😀"
    lines = "a\n\tb\\"
    known = json.dumps({k: repr(v) for k, v in sorted(locals().items())})
    point = Point()
    slots = Slots()
    both = Both()
    later = Point()
    later.__dict__["more"] = 2
    circle = []
    circle.append(circle)
    cell = 7
    gone = 1
    del gone

    def inner():
        return cell

    print(known, flush=True)
    os.kill(os.getpid(), signal.SIGUSR1)
    return inner


values(1, 2, 3, other=4)
