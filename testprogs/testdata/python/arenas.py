"""Grows CPython's arenas from one function, and maps memory of its own."""
import mmap
import os

kept = []


def load(count):
    for number in range(count):
        kept.append(bytes(400))  # the only object that needs an arena


def scratch():
    return mmap.mmap(-1, 4 << 20)


load(16_700)
region = scratch()
os._exit(0)
