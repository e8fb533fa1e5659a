# Allocates in many ways between recording_begins and recording_ends of counter.so, which is
# its first argument. The second is where that dumps the calls it has seen; further words
# choose what else happens: threads, fork, tracemalloc.
import ctypes
import gc
import json
import os
import sys
import threading
import tracemalloc

counter = ctypes.PyDLL(sys.argv[1])
what = sys.argv[3:]


def work(n):
    rows = [{"number": i, "texts": [str(i)] * 3, "big": "x" * (i % 700)} for i in range(n)]
    text = json.dumps(rows)
    back = json.loads(text)
    assert back == rows
    buffer = bytearray()
    for i in range(n):
        buffer += b"y" * i
    class Node:
        def __init__(self, to):
            self.to = to
    ring = [Node(None) for _ in range(n)]
    for a, b in zip(ring, ring[1:] + ring[:1]):
        a.to = b
    ring.clear()
    gc.collect()
    return len(text) + len(buffer)


if "bare" not in what:
    counter.install()
work(10)
counter.recording_begins()
if "threads" in what:
    threads = [threading.Thread(target=work, args=(200,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
else:
    work(200)
if "tracemalloc" in what:
    tracemalloc.start(5)
    work(50)
    tracemalloc.stop()
    work(50)
if "fork" in what:
    child = os.fork()
    if child == 0:
        work(50)
        os._exit(7)
    assert os.waitpid(child, 0)[1] == 7 << 8
    work(50)
counter.recording_ends()
counter.dump(sys.argv[2].encode())
print("done", work(10))
