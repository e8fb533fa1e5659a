"""Stops in a function of the library, whose module does not know the names of this one."""
import contextlib
import signal

SEEN = [1, 2, 3]

with contextlib.ExitStack() as stack:
    stack.callback(signal.raise_signal, signal.SIGUSR1)
