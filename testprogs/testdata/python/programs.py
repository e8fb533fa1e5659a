"""Does ordinary work, named by the first argument, and tells what tracemalloc has of the blocks
that are live when it stops by a signal: size and Python stack of each. Loaded before: nothing that
the work loads."""
import signal
import sys
import tracemalloc

import _tracemalloc

KEPT = []


def work_json():
    import json
    rows = [{"id": n, "name": "row %d" % n, "tags": [str(n % 7), "x" * (n % 90)], "nested": {"a": [n, n / 3]}} for n in range(200)]
    text = json.dumps(rows)
    KEPT.append(json.loads(text))
    KEPT.append(json.dumps(KEPT[0], indent=2, cls=type("Own", (json.JSONEncoder,), {})))
    KEPT.append(json.loads(text, object_hook=lambda d: tuple(d.items()))[:100])


def work_re():
    import re
    text = " ".join("word%d:%d" % (n, n * n) for n in range(300))
    KEPT.append(re.findall(r"(\w+):(\d+)", text))
    KEPT.append(re.sub(r"\d+", lambda m: m.group()[::-1], text))
    KEPT.append([re.compile("(a|b%d)*c{%d}" % (n, n + 1)) for n in range(40)])


def work_sqlite3():
    import sqlite3
    db = sqlite3.connect(":memory:")
    db.create_function("twice", 1, lambda s: s + s)
    db.execute("create table t (n integer, s text)")
    db.executemany("insert into t values (?, ?)", ((n, "text %d" % n) for n in range(300)))
    KEPT.append(db.execute("select n, twice(s) from t order by s").fetchall())
    KEPT.append(db)


def work_numpy():
    import numpy
    a = numpy.arange(200_000, dtype="float64").reshape(400, 500)
    KEPT.append(a @ a.T)
    KEPT.append(numpy.sort(a[::-1], axis=None))
    KEPT.append([numpy.full((n, 64), n) for n in range(1, 60)])
    KEPT.append(numpy.apply_along_axis(lambda row: row.copy() * 2, 1, a))


def work_asyncio():
    import asyncio

    async def fetch(n, queue):
        await asyncio.sleep(0)
        await queue.put([str(n)] * 20)
        return bytearray(700 + n)

    async def main():
        queue = asyncio.Queue()
        KEPT.append(await asyncio.gather(*(fetch(n, queue) for n in range(60))))
        KEPT.append([queue.get_nowait() for _ in range(queue.qsize())])

    asyncio.run(main())


def work_threads():
    import threading
    import zlib

    def busy(n):
        mine = []
        for i in range(60):
            mine.append(zlib.compress(bytes(range(256)) * (i + 1)))
            mine.append({"key %d" % i: [n] * i})
        KEPT.append(mine)

    all = [threading.Thread(target=busy, args=(n,)) for n in range(4)]
    for t in all:
        t.start()
    for t in all:
        t.join()


def work_imports():
    import argparse, csv, ctypes, dataclasses, decimal, difflib, email.message, html.parser, http.client, logging.config
    import multiprocessing, pickle, smtplib, tarfile, unittest, urllib.request, xml.dom.minidom
    KEPT.append([m for m in list(sys.modules.values())])

    @dataclasses.dataclass
    class Point:
        x: int
        y: int = 0

    KEPT.append(pickle.loads(pickle.dumps([decimal.Decimal(n) / 7 for n in range(300)])))
    KEPT.append([Point(n) for n in range(300)])


def work_code():
    # Code that is run and gone, and whose memory is another function's then.
    for n in range(300):
        space = {}
        exec(compile("def made_%d(n):\n%s    return [n] * %d\n" % (n, "\n" * (n % 50), n), "made %d.py" % (n % 10), "exec"), space)
        KEPT.append(space["made_%d" % n](n))
        if n % 3:
            del space


def work_deep():
    def down(n):
        kept = [n] * n
        if n:
            below = down(n - 1)
            return kept, below, (lambda: [kept] * n)()
        return kept

    def numbers(n):
        if n:
            yield [n] * 30
            yield from numbers(n - 1)

    KEPT.append(down(60))
    KEPT.append(list(numbers(40)))


def main():
    tracemalloc.start(100)
    signal.raise_signal(signal.SIGUSR1)
    globals()["work_" + sys.argv[1]]()
    stop()


def stop():
    signal.raise_signal(signal.SIGUSR1)
    traces = _tracemalloc._get_traces()
    tracemalloc.stop()
    with open(sys.argv[2], "w") as to:
        for trace in traces:
            if trace[0] == 0:
                print(trace[1], *("%s:%d" % f for f in trace[2]), sep="\t", file=to)


main()
