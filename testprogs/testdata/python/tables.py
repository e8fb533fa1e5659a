# Allocates in four threads until its standard input ends, with tracemalloc coming and going
# if a word says so.
import json
import sys
import threading
import time
import tracemalloc

ended = False


def work():
    rows = [{"number": i, "texts": [str(i)] * 3, "big": "x" * (i * 7)} for i in range(100)]
    assert json.loads(json.dumps(rows)) == rows


def worker():
    while not ended:
        work()


def toggle():
    while not ended:
        tracemalloc.start()
        time.sleep(0.01)
        tracemalloc.stop()
        time.sleep(0.01)


threads = [threading.Thread(target=worker) for _ in range(4)]
if "tracemalloc" in sys.argv:
    threads.append(threading.Thread(target=toggle))
for t in threads:
    t.start()
print("busy", flush=True)
sys.stdin.read()
ended = True
for t in threads:
    t.join()
work()
print("done")
