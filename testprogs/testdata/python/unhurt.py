# As unhurt.c, in Python: a list's memory comes from PyMem_Malloc, a bytearray's from PyObject_Malloc.
import os
import sys
import time


def work(n):
    return bytearray(n), [0] * (n // 8)


print("ready", flush=True)
i = 0
while i < 5 or len(sys.argv) > 1 and not os.path.exists(sys.argv[1]):
    work(16000)
    time.sleep(0.001)
    i += 1
print("fine", flush=True)
sys.exit(7)
