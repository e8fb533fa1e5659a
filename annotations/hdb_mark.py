"""Tell hdb, a debugger for memory allocations, what a program in Python is at.

    import hdb_mark

    hdb_mark.mark("loaded")            # a mark, as the console's `mark loaded`
    with hdb_mark.phase("import"):     # the marks "import begin" and "import end"
        ...
    with hdb_mark.record():            # record only what is allocated here: `hdb record --paused`
        ...
    hdb_mark.pause(); hdb_mark.resume()
    hdb_mark.break_()                  # stop here

Nothing is loaded, and nothing but the module object is kept. hdb sees the calls of the C library's
unsetenv(3) with names that no environment has; without hdb each is a look for such a name. CPython 3.8
and later, on Linux. See docs/annotations.md.

SPDX-License-Identifier: Apache-2.0
"""

from _thread import allocate_lock as _allocate_lock

try:
    from posix import unsetenv as _tell  # os.unsetenv, without what may have been put over it
except ImportError:  # another system
    def _tell(what):
        pass

__all__ = ["mark", "phase", "record", "pause", "resume", "break_"]

_PAUSE, _RESUME, _BREAK = b"\x01hdb:pause", b"\x01hdb:resume", b"\x01hdb:break"


def _encoded(name):
    # unsetenv refuses "=", and a C string ends at NUL.
    return b"\x01hdb:mark:" + str(name).encode("utf-8", "replace").replace(b"=", b"\x01e").replace(b"\0", b"\x01z")


def mark(name):
    """Names the moment, for `leaks since NAME`, `diff` and `goto`."""
    _tell(_encoded(name))


def break_():
    """Stops the program under hdb."""
    _tell(_BREAK)


def pause():
    """Records no allocations from here on; frees of recorded blocks are."""
    _tell(_PAUSE)


def resume():
    """Ends pause(), or begins a recording that was started with --paused."""
    _tell(_RESUME)


class phase:
    """Marks the begin and the end of a block: "NAME begin", "NAME end"."""

    __slots__ = ("_begin", "_end")

    def __init__(self, name):
        self._begin, self._end = _encoded("%s begin" % (name,)), _encoded("%s end" % (name,))

    def __enter__(self):
        _tell(self._begin)
        return self

    def __exit__(self, *raised):
        _tell(self._end)
        return False


_lock = _allocate_lock()
_entered = 0  # records that are entered


class record:
    """Records what all threads allocate while it, or another one, is entered."""

    __slots__ = ()

    def __enter__(self):
        global _entered
        with _lock:
            _entered += 1
            if _entered == 1:
                _tell(_RESUME)
        return self

    def __exit__(self, *raised):
        global _entered
        with _lock:
            _entered -= 1
            if _entered == 0:
                _tell(_PAUSE)
        return False
