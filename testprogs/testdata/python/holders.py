"""Holds objects in several ways, and stops by a signal."""
import gc
import os
import signal


class Store:
    def __init__(self):
        self.parts = [bytearray(10), bytearray(20)]
        self.index = {"key": self.parts[0], (1, 2): [self.parts[1]]}


class Row:
    __slots__ = ("store", "next")

    def __init__(self, store):
        self.store, self.next = store, self


def grow():
    part = store.parts[0]
    pair = (part, 1.5)
    reader = lambda: part
    os.kill(os.getpid(), signal.SIGSTOP)
    return pair, reader


gc.disable()
gc.set_threshold(1000, 20, 30)
store = Store()
CACHE = {"store": store, "rows": [Row(store) for _ in range(100)]}
grow()
