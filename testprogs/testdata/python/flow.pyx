# cython: language_level=3
"""Statements of each kind: the lines at which steps stop are compared with those that
linetrace tells, and stacks with tracebacks."""

cdef int sink = 0


cdef class Guard:
    cdef int depth

    def __cinit__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *args):
        self.depth -= 1
        return True


def branches(int n):
    cdef int x = 0
    if n > 3:
        x = 1
    elif n > 1:
        x = 2
    else:
        x = 3
    if x == 2:
        x += 1
    x += 1
    return x


def loops(n):
    cdef int i
    total = 0
    for i in range(3):
        total += i
        if i == 1:
            continue
        total += 1
    for each in [1, 2]:
        if each == 2:
            break
        total += each
    else:
        total = 0
    while n > 0:
        n -= 1
        if n == 1:
            break
    for each in iter((5, 6)):
        total += each
    for k, v in {"a": 1}.items():
        total += v
    return total


def handlers(n):
    try:
        n += 1
        raise ValueError(n)
    except KeyError:
        n = 0
    except ValueError as e:
        n = 2
    else:
        n = 3
    finally:
        n += 1
    try:
        n += 1
    finally:
        n += 2
    with Guard() as g:
        n += 3
    try:
        n = 4
    except ValueError:
        n = 5
    return n


def others(n):
    a = [i for i in range(2)]
    b = {i: i for i in (1, 2)}
    c, d = 1, n
    assert c == 1
    del b
    x = n if n else 5
    y = n and c or d
    pass
    f"{n} {x}"
    with Guard():
        if n:
            return a[0]
    return y


def generator(n):
    yield n
    for i in range(2):
        yield i
        n += i


cdef int native(int n) except -1:
    global sink
    sink = n
    if n:
        return n + 1
    return 0


def calls(n):
    x = native(n)
    native(
        x)
    return native(0)


def run():
    branches(5)
    branches(2)
    branches(0)
    loops(3)
    handlers(1)
    others(1)
    list(generator(3))
    calls(1)


FAILURES = 6


cdef class Deep:
    cdef int kept

    cdef int reach(self, n, callback) except -1:
        for i in range(2):
            if i == 1:
                callback(n)
        return 0

    cpdef object through(self, n, callback):
        return self.reach(
            n,
            callback)


def fail(n, callback):
    """Calls callback, which raises, from a different place for each n."""
    cdef Deep deep = Deep()
    if n == 0:
        callback(n)
    elif n == 1:
        deep.through(n, callback)
    elif n == 2:
        return [callback(i)
                for i in range(2)]
    elif n == 3:
        def inner(x):
            return callback(
                x)
        inner(n)
    elif n == 4:
        for each in failing(n, callback):
            pass
    else:
        try:
            raise KeyError
        except KeyError:
            with Guard():
                pass
            callback(n)


def failing(n, callback):
    yield 0
    yield callback(n)
