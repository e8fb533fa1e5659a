# Functions whose lines begin in many ways: by falling through, jumps forward and back,
# exceptions, returns and resumption. Run with "trace" it tells the lines that begin, and
# the instructions, as sys.settrace has them.
import sys


def straight(a):
    b = a
    c = b
    d = c + b
    return d


def loop(n):
    total = 0
    for i in range(n):
        total += i
    return total


def nested(n):
    found = []
    for i in range(n):
        for j in range(i):
            if j % 2:
                continue
            if i * j > 6:
                break
            found.append((i, j))
        else:
            found.append(i)
    return found


def condition(n):
    while n > 0:
        n -= 1
        if n == 3:
            continue
    else:
        n = 7
    return n


def oneline(n):
    while n: n -= 1
    for i in range(3): n += i
    return [x * n for x in range(3)]


def exceptions(n):
    out = []
    for i in range(n):
        try:
            if i == 1:
                raise ValueError(i)
            out.append(10 // i)
        except ZeroDivisionError:
            out.append(0)
        except ValueError as e:
            out.append(e)
        else:
            out.append("else")
        finally:
            out.append("end")
    return len(out)


def early(n):
    try:
        return helper(n)
    finally:
        n = 0


def helper(n):
    if n > 2:
        raise KeyError(n)
    return n


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        return kind is not None


def managed(n):
    with Manager() as m:
        n += 1
        if n > 2:
            raise ValueError(m)
    with Manager(), Manager():
        n = n * 2
    return n


def several(a, b):
    return helper(
        min(a,
            b),
    )


def numbers(n):
    for i in range(n):
        got = yield i
        if got:
            yield got
    return "end"


def chained(n):
    x = yield from numbers(n)
    yield x


def consume(n):
    g = chained(n)
    out = [next(g)]
    out.append(g.send(5))
    for x in g:
        out.append(x)
    h = numbers(3)
    next(h)
    h.close()
    return out


async def awaited(n):
    return n


async def coroutine(n):
    total = 0
    for i in range(n):
        total += await awaited(i)
    return total


def drive(n):
    c = coroutine(n)
    try:
        c.send(None)
    except StopIteration as e:
        return e.value


def recursive(n):
    if n == 0:
        return 0
    below = recursive(n - 1)
    return below + 1


def raising(n):
    out = 0
    try:
        raising_below(n)
    except KeyError:
        out = 1
    return out


def raising_below(n):
    helper(n)
    return 5


def sorting(n):
    def key(x):
        return -x
    return sorted(range(n), key=key)


def closing(n):
    def inner():
        nonlocal n
        n += 1
        return n
    inner()
    return inner()


def many(n):
    if n == 1: return 1
    elif n == 2: return 2
    x = (n
         and n > 1
         or 5)
    assert x, \
        "never"
    del x
    return (lambda y:
            y + 1)(n)


def work():
    straight(1)
    loop(3)
    nested(5)
    condition(5)
    oneline(3)
    exceptions(4)
    for n in 1, 3:
        try:
            early(n)
        except KeyError:
            pass
        managed(n)
    several(1, 2)
    consume(2)
    drive(3)
    recursive(3)
    raising(1)
    raising(4)
    sorting(3)
    closing(1)
    many(1)
    many(2)
    many(3)


def tell():
    """What sys.settrace tells of work: the code objects, and of each call the
    instructions, with 1 where a line begins."""
    codes, calls, stack, order = {}, [], [], []

    def hexed(b):
        return b.hex()

    def code_of(c):
        if c not in codes:
            table = c.co_linetable if sys.version_info >= (3, 10) else c.co_lnotab
            codes[c] = {"number": len(codes), "name": c.co_name, "first": c.co_firstlineno, "code": hexed(c.co_code),
                        "table": hexed(table), "exceptions": hexed(getattr(c, "co_exceptiontable", b""))}
        return codes[c]["number"]

    def tracer(frame, event, arg):
        frame.f_trace_opcodes = True
        if event == "call":
            if frame.f_lasti <= 0 or not any(k[0] is frame for k in stack):
                stack.append((frame, [code_of(frame.f_code), frame.f_lasti]))
                calls.append(stack[-1][1])
            else:
                call = [code_of(frame.f_code), frame.f_lasti]
                stack.append((frame, call))
                calls.append(call)
            return tracer
        mine = [k[1] for k in stack if k[0] is frame][-1]
        if event == "line":
            order.append([frame.f_lineno or 0, frame.f_code.co_name])
            mine.append(["line", frame.f_lineno or 0, frame.f_lasti])
        elif event == "opcode":
            mine.append(["opcode", frame.f_lineno or 0, frame.f_lasti])
        return tracer

    sys._getframe().f_trace_opcodes = True  # 3.12 looks at this when tracing begins
    sys.settrace(tracer)
    work()
    sys.settrace(None)
    import json
    json.dump({"codes": [codes[c] for c in codes], "calls": calls, "order": order}, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["trace"]:
        tell()
    else:
        work()
