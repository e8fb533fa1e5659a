"""Allocates in C, with the interpreter's lock released, in a thread that has made a sub-interpreter, while another
thread runs that; in the main thread and, with an argument, in another one."""
import ctypes
import os
import sys
import tempfile
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = '''
import os
def spin():
    open(BEGUN, "w")
    while os.path.exists(BEGUN):
        n = 0
        while n < 100000:
            n += 1
spin()
'''
libc = ctypes.CDLL(None)
run = getattr(interpreters, "exec", interpreters.run_string)


def works():
    found = ctypes.c_void_p()
    for _ in range(3):
        libc.scandir(b"/usr/bin", ctypes.byref(found), None, None)  # a block for each entry


def main():
    made = interpreters.create()
    begun = tempfile.mktemp()
    other = threading.Thread(target=run, args=(made, CODE.replace("BEGUN", repr(begun))))
    other.start()
    while not os.path.exists(begun):
        pass
    works()
    os.unlink(begun)
    other.join()


if sys.argv[1:]:
    first = threading.Thread(target=main)
    first.start()
    first.join()
else:
    main()
