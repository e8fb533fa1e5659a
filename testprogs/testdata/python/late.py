"""A singleton with caches, made after a line on standard input, so that a recording can begin before it. All it has is held; 20 objects
of bytes are lost, as by an extension that takes a reference too many."""
import ctypes
import sys


class Item:
    def __init__(self, n):
        self.name = "item %d" % n
        self.values = [n] * 20
        self.__dict__["extra"] = n  # from 3.11 on it has a dict of its own from now on


class App:
    def __init__(self):
        self.items = {}
        self.by_name = {}
        self.log = []

    def fill(self):
        for n in range(100):
            item = Item(n)
            self.items[n] = item
            self.by_name[item.name] = item
            self.log.append(("log %d" % n, n))


def lose(n):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(bytes(2_000 + n)))


print("ready", flush=True)
sys.stdin.readline()
app = App()
app.fill()
for i in range(20):
    lose(i)
app.fill()
print("done", flush=True)
sys.stdin.readline()
