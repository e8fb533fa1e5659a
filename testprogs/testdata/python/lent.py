"""Runs code in a sub-interpreter by another thread than the one that made it. That thread tells both stacks and
stops, with the interpreter's lock held, and then calls a function named wanted."""
import json
import os
import signal
import sys
import threading
import time

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        print("no sub-interpreters", flush=True)
        sys.exit()

COMMON = '''
def name(code): return getattr(code, "co_qualname", code.co_name)

def stack(f):
    told = []
    while f:
        told.append("%s %s:%d" % (name(f.f_code), f.f_code.co_filename, f.f_lineno))
        f = f.f_back
    return told
'''
exec(COMMON)

CODE = COMMON + '''
import json, os, signal, sys, threading
def wanted(): return 1
def deep(n):
    if n: return sorted([1], key=lambda _: deep(n - 1))
    told[TID] = stack(sys._getframe()) + OUTER
    told[TID][0] = told[TID][0].rsplit(":", 1)[0] + ":18"
    print("threads " + json.dumps(told), flush=True)
    signal.pthread_kill(threading.get_ident(), SIGNAL)
    wanted()
told = TOLD
deep(2)
os._exit(0)
'''


def lent(made, thread):
    while True:
        f = sys._current_frames()[thread]
        if f.f_code is main.__code__ and f.f_lineno == main.__code__.co_firstlineno + 4:
            break
        time.sleep(0.01)
    told = {str(os.getpid()): stack(sys._current_frames()[thread])}
    outer = stack(sys._getframe())
    outer[0] = outer[0].rsplit(":", 1)[0] + ":%d" % (sys._getframe().f_lineno + 3)
    code = CODE.replace("TID", repr(str(threading.get_native_id()))).replace("SIGNAL", str(int(signal.SIGUSR1)))
    code = code.replace("OUTER", repr(outer)).replace("TOLD", repr(told))
    failed = getattr(interpreters, "exec", interpreters.run_string)(made, code)
    print(failed, flush=True)
    os._exit(1)


def main():
    made = interpreters.create()
    threading.Thread(target=lent, args=(made, threading.get_ident())).start()
    while True:
        time.sleep(1000)


main()
