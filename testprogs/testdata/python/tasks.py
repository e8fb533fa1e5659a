"""Tells of its tasks what each is in and who awaits it, and stops by a signal in one of them."""
import asyncio
import json
import os
import signal
import sys

signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def chain(coroutine):
    frames = []
    while coroutine is not None:
        for kind in "cr", "gi", "ag":
            frame = getattr(coroutine, kind + "_frame", None)
            if frame:
                code = frame.f_code
                name = getattr(code, "co_qualname", code.co_name)
                frames.insert(0, "%s %s:%d" % (name, code.co_filename, frame.f_lineno))
                coroutine = None if frame is running else getattr(coroutine, {"cr": "cr_await", "gi": "gi_yieldfrom", "ag": "ag_await"}[kind])
                break
        else:
            return frames
    return frames


async def leaf():
    global running
    await asyncio.sleep(0)
    running = sys._getframe(1)
    told = {t.get_name(): {"frames": chain(t.get_coro()), "by": AWAITED.get(t.get_name(), [])} for t in asyncio.all_tasks()}
    running = None
    print("tasks " + json.dumps(told), flush=True)
    os.kill(os.getpid(), signal.SIGUSR1)


AWAITED = {"mid": ["top"], "sleeper": ["top"], "top": ["waiter"], "waiter": ["direct"], "direct": ["shielded"], "shielded": ["main"]}


async def mid():
    await leaf()


async def sleeper():
    await asyncio.sleep(100)


async def cleaner():
    try:
        raise ValueError
    except ValueError:
        await asyncio.Event().wait()


async def alone():
    async with Manager():
        pass


class Manager:
    async def __aenter__(self):
        await cleaner()

    async def __aexit__(self, *what):
        pass


async def top():
    await asyncio.gather(make(mid()), make(sleeper()))


async def waiter(task):
    await asyncio.wait({task})


async def direct(task):
    await task


async def shielded(task):
    await asyncio.shield(task)


def make(coroutine):
    return asyncio.get_running_loop().create_task(coroutine, name=coroutine.__name__)


async def main():
    (asyncio.current_task()).set_name("main")
    lonely = make(alone())
    await make(shielded(make(direct(make(waiter(make(top())))))))
    lonely.cancel()


running = None
asyncio.run(main())
