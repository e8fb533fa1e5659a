"""Has C code refer to objects that nothing else refers to: their counts of references are raised and forgotten."""
import ctypes
import gc
import os
import signal


def leak(x):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))


signal.signal(signal.SIGUSR1, signal.SIG_IGN)
leak("first %d" % 1)
i = None
gc.collect()
gc.disable()
os.kill(os.getpid(), signal.SIGUSR1)
for i in range(50):
    leak(i * 1.5 + 0.125)
for i in range(30):
    leak("leaked %d" % i)
for i in range(20):
    leak((i + 0.25, "t%d" % i))
i = None
gc.collect()
os.kill(os.getpid(), signal.SIGUSR1)
