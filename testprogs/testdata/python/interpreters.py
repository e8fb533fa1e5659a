"""Runs code in a sub-interpreter, which tells its stack and the one further out, and stops: with the
interpreter's lock held, and while it waits without."""
import json
import os
import signal
import sys

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        print("no sub-interpreters", flush=True)
        sys.exit()

CODE = '''
import json, os, sys, time
def name(code): return getattr(code, "co_qualname", code.co_name)
def deep(n, wait):
    if n: return sorted([1], key=lambda _: deep(n - 1, wait))
    stack = []
    f = sys._getframe()
    while f:
        stack.append([name(f.f_code), f.f_code.co_filename, f.f_lineno])
        f = f.f_back
    stack[0][2] = 15 if wait else 14
    print(json.dumps(stack + OUTER), flush=True)
    if not wait:
        os.kill(os.getpid(), SIGNAL); return
    time.sleep(1)
deep(2, False)
ALARM
deep(2, True)
'''


def name(code):
    return getattr(code, "co_qualname", code.co_name)


def main():
    stack, f = [], sys._getframe()
    while f:
        stack.append([name(f.f_code), f.f_code.co_filename, f.f_lineno])
        f = f.f_back
    made = interpreters.create()
    code = CODE.replace("SIGNAL", str(int(signal.SIGUSR1))).replace("ALARM", "import signal; signal.setitimer(signal.ITIMER_REAL, 0.3)")
    stack[0][2] = sys._getframe().f_lineno + 1
    failed = interpreters.run_string(made, code.replace("OUTER", json.dumps(stack)))
    if failed:
        print(failed, flush=True)


main()
