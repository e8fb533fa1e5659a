"""Damages blocks of CPython's allocators, which PYTHONMALLOC=debug shows. It prints their
addresses, and stops; the last one makes the interpreter abort."""
import ctypes
import os
import signal
import sys

api = ctypes.pythonapi
for domain in "PyMem_Raw", "PyMem_", "PyObject_":
    for name in "Malloc", "Realloc", "Free":
        f = getattr(api, domain + name)
        f.restype = ctypes.c_void_p
        f.argtypes = [ctypes.c_size_t] if name == "Malloc" else [ctypes.c_void_p, ctypes.c_size_t][:1 + (name == "Realloc")]


def overrun(malloc, size, extra):
    p = malloc(size)
    ctypes.memset(p, 0x41, size + extra)
    return p


def underrun(malloc, size):
    p = malloc(size)
    ctypes.memset(p - 2, 0x42, 2)
    return p


def lost_header(malloc, size):
    p = malloc(size)
    ctypes.memset(p - 16, 0x43, 16)
    return p


def use_after_free(malloc, free, size):
    all = [malloc(size) for _ in range(20)]
    for p in all:
        free(p)
    ctypes.memset(all[0] + 10, 0x44, 4)
    return all[0]


def main():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    kept = [bytes(i) for i in range(600)]
    fresh = api.PyMem_Malloc(40)
    blocks = [
        overrun(api.PyMem_Malloc, 20, 3),
        underrun(api.PyObject_Malloc, 100),
        lost_header(api.PyObject_Malloc, 100),
        use_after_free(api.PyMem_Malloc, api.PyMem_Free, 333),
    ]
    large = overrun(api.PyObject_Malloc, 5000, 1)
    print(*map(hex, [fresh, *blocks, large]), flush=True)
    os.kill(os.getpid(), signal.SIGUSR1)  # stops
    if "large" in sys.argv:
        api.PyObject_Free(large)
    api.PyMem_Free(blocks[0])


main()
