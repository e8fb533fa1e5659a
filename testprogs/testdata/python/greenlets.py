"""Tells its own stack in greenlets, and stops by a signal in each, after an allocation of a
size that no other has."""
import itertools
import json
import os
import signal
import sys

import greenlet

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
sizes = itertools.count(5_000_000, 4096)


def stop(n):
    if n:
        return sorted([n], key=lambda n: stop(n - 1))
    f = sys._getframe()
    told = []
    while f:
        told.append([getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, f.f_lineno])
        f = f.f_back
    told[0][2] = sys._getframe().f_lineno + 2
    print(json.dumps(told), flush=True)
    os.kill(os.getpid(), bytearray(next(sizes)) and signal.SIGUSR1)


def child(x):
    def inner():
        stop(1)
        second.switch(5)

    inner()
    stop(0)


def other(y):
    stop(2)
    first.switch()


def main():
    first.switch(1)
    stop(0)


first = greenlet.greenlet(child)
second = greenlet.greenlet(other)
main()
