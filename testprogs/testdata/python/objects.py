"""Tells which objects there are, by type: those that the garbage collector tracks, and those that they refer to.

Then it stops by a signal, or reads a byte if it is given one more argument. Nothing is made between the two that is not
gone again. The second time it tells of the collector itself, the third time who refers to some objects.
"""
import array
import asyncio
import collections
import contextvars
import dataclasses
import decimal
import enum
import functools
import gc
import io
import itertools
import json
import os
import signal
import sys
import types
import weakref
import xml.etree.ElementTree


class Plain:
    def __init__(self, i):
        self.number = i
        self.name = "name %d" % i
        self.parts = [i * 1000.5]


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 2.5, ("t", 3.5)


class Both(Slots):
    pass


class Weak(Slots):
    __slots__ = ("__weakref__",)


class List(list):
    pass


class Dict(dict):
    pass


class Tuple(tuple):
    pass


class Text(str):
    pass


class Number(int):
    pass


class Float(float):
    __slots__ = ("more",)


class Bytes(bytes):
    pass


class Set(set):
    pass


class Meta(type):
    pass


class Made(metaclass=Meta):
    pass


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Liar:
    def __sizeof__(self):
        return 5


class Twin:
    pass


Pair = collections.namedtuple("Pair", "left right")


def generator(n):
    local = "local %d" % n
    yield local
    yield [local]


def closure(n):
    free = [n]
    return lambda: free


async def coroutine():
    await asyncio.sleep(0)


@functools.lru_cache(maxsize=None)
def cached(n):
    return float(n)


def withAttribute():
    pass


def population():
    p = {
        "plain": [Plain(i) for i in range(300)],
        "detached": [vars(Plain(i)) for i in range(20)],
        "slots": [Slots() for _ in range(30)],
        "both": [Both() for _ in range(30)],
        "weak": [Weak() for _ in range(30)],
        "points": [Point(i + 0.5, i - 0.5) for i in range(40)],
        "pairs": [Pair(i + 0.25, str(i)) for i in range(40)],
        "subclasses": [List([1.5]), Dict(a=1.25), Tuple((1.75, 2)), Text("é"), Number(1 << 70), Float(2), Bytes(b"abc"), Set([4.5])],
        "made": [Made(), Meta("Other", (), {})],
        "liars": [Liar()],
        "enums": [Colour.RED, Bits.A | Bits.B],
        "texts": ["", "a", "abc" * 100, "é" * 10, "日本" * 9, "😀" * 7, "".join(chr(0x100 + i) for i in range(50))],
        "numbers": [0, 1, -1, 1 << 29, 1 << 30, -(1 << 30), 1 << 60, -(1 << 200), True, False, 10 ** 100],
        "floats": [i * 1.5 for i in range(1000)],
        "complex": [complex(i, 1) for i in range(10)],
        "bytes": [b"", b"x", bytes(1000), bytearray(), bytearray(b"abc"), bytearray(5000)],
        "lists": [[], [1], list(range(1000)), [[] for _ in range(7)]],
        "tuples": [(), (1, 2), tuple(range(300)), (1, [2])],
        "dicts": [{}, {"a": 1}, {i: str(i) for i in range(1000)}, {str(i): i for i in range(100)}, {(1, 2): 3, None: 4}],
        "sets": [set(), {1}, set(range(100)), frozenset("abcdef"), frozenset(range(50))],
        "deques": [collections.deque(), collections.deque(range(1000)), collections.deque([1.5], maxlen=3)],
        "ordered": [collections.OrderedDict(), collections.OrderedDict((i, i * 0.5) for i in range(30))],
        "default": collections.defaultdict(list, {1: [2]}),
        "counter": collections.Counter("hello"),
        "arrays": [array.array("d", range(100)), array.array("b")],
        "decimals": [decimal.Decimal("1.5"), decimal.Decimal(10) ** 60 + 1],
        "files": [io.BytesIO(b"abc" * 100), io.StringIO("text"), open(os.devnull, "rb")],
        "functions": [closure(i) for i in range(10)] + [functools.partial(print, 1.125), print, [].append, "".join, str.join, Plain.__init__],
        "bound": Plain(7).__init__,
        "generators": [generator(i) for i in range(10)],
        "iterators": [iter([1.0625]), iter({"q": 2}), zip([1], [2]), map(str, [3]), itertools.chain([1], [2]), itertools.count(1.5), reversed([1]), enumerate("ab")],
        "ranges": [range(10), range(1 << 70), slice(1.5, 2), memoryview(b"memory")],
        "modules": types.ModuleType("made"),
        "namespaces": types.SimpleNamespace(a=1.5),
        "proxies": [types.MappingProxyType({"a": 1.5}), weakref.proxy(List)],
        "errors": [ValueError("v", 1.5), KeyError("k")],
        "variables": contextvars.copy_context(),
        "element": xml.etree.ElementTree.fromstring("<a x='1'>" + "<b>text</b>" * 9 + "</a>"),
        "properties": [property(len), staticmethod(len), classmethod(len)],
        "code": compile("def f(x, y=[2.5]):\n  z = x + 123456.75\n  return lambda: (z, 'constant text')\n", "made.py", "exec"),
    }
    p["cycle"] = p
    p["self"] = [p]
    p["self"].append(p["self"])
    for g in p["generators"][1:]:
        next(g)
    next(p["generators"][2])
    for i in range(20):
        cached(i)
    variable = contextvars.ContextVar("variable")
    for i in range(100):
        p["variables"].run(variable.set, [i])
    p["variable"] = variable
    withAttribute.attribute = [1.5]
    p["refs"] = [weakref.ref(x) for x in p["weak"]]
    p["utf8"] = [t.encode() and os.path.exists(t) for t in p["texts"]]
    p["made"][0].late = 1.5
    for q in p["plain"][:5]:
        q.more = 2.5
    for i, q in enumerate(p["plain"][5:50]):
        setattr(q, "only%d" % (i % 35), i)
    p["plain"][60].__dict__["item"] = 9.5
    del p["plain"][61].name
    p["plain"][62].__dict__ = {"other": 3.5}
    return p


def refers(o):
    """What an object refers to. gc.get_referents knows nothing of code objects, which the collector does not track."""
    if isinstance(o, types.CodeType):
        return [o.co_consts, o.co_names, o.co_filename, o.co_name] + [getattr(o, a) for a in ("co_linetable", "co_exceptiontable", "co_qualname") if hasattr(o, a)]
    return gc.get_referents(o)


def name(t):
    return t.__qualname__ if t.__module__ == "builtins" else "%s.%s" % (t.__module__, t.__qualname__)


def add(told, o):
    t = type(o)
    row = told.setdefault(name(t), [0, 0])
    row[0] += 1
    row[1] += sys.getsizeof(twin if t is Liar else o)


def tell(objects, write):
    tracked, untracked = {}, {}
    for o in objects:
        add(tracked, o)
    own = {id(objects), id(tracked), id(untracked), id(sys._getframe())}
    seen = set(map(id, objects)) | own
    seen.update((id(own), id(seen)))
    left = objects[:]
    while left:
        for r in refers(left.pop()):
            if id(r) not in seen:
                seen.add(id(r))
                add(untracked, r)
                left.append(r)
    if write:
        say("objects", {"tracked": tracked, "untracked": untracked})


def collector():
    say("collector", {"count": gc.get_count(), "threshold": gc.get_threshold(), "stats": gc.get_stats(), "frozen": gc.get_freeze_count(),
                      "enabled": gc.isenabled(), "garbage": len(gc.garbage), "generations": [len(gc.get_objects(i)) for i in range(3)]})


def say(what, told):
    os.write(1, what.encode() + b" " + json.dumps(told).encode() + b"\n")


def referrers():
    told = {}
    for what in targets:  # an iterator of items() has a tuple of its own
        o = targets[what]
        told[what] = [hex(id(o)), [hex(id(r)) for r in gc.get_referrers(o) if not isinstance(r, types.FrameType)]]
    say("referrers", told)


pid = os.getpid()
targets = {}
stop = functools.partial(os.read, 0, 1) if len(sys.argv) > 1 else functools.partial(os.kill, pid, signal.SIGUSR1)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
twin = Twin()
later = []
everything = population()
weakly = weakref.WeakValueDictionary((i, w) for i, w in enumerate(everything["weak"]))
gc.collect()
later.extend([Plain(i) for i in range(100)])
gc.collect(0)
gc.disable()
gc.set_threshold(701, 11, 12)
tell(gc.get_objects(), False)
tell(gc.get_objects(), True)
os.write(1, b"ready\n")  # its functions have returned
stop()
gc.freeze()
later.extend([Plain(i) for i in range(100)])
gc.garbage.append(later)
gc.enable()
gc.set_threshold(70001, 13, 14)
targets.update({
    "value": everything["plain"][3].parts, "key": everything["plain"][3].name, "slot": everything["slots"][4].b, "inherited": everything["both"][4].b,
    "element": everything["floats"][20], "tuple": everything["tuples"][3], "deep": everything["lists"][3][2], "tracked tuple": everything["tuples"][3][1],
    "dict": everything["dicts"][3], "set": everything["sets"][2], "deque": everything["deques"][0], "ordered": everything["ordered"][1],
    "instance": everything["plain"][9], "weak": everything["weak"][3], "list": List, "class": Plain, "meta": Meta, "made": everything["made"][1],
    "function": withAttribute, "of function": withAttribute.attribute, "method": everything["bound"], "partial": everything["functions"][10],
    "closed over": everything["functions"][2].__closure__[0], "cell": everything["functions"][3].__closure__[0].cell_contents,
    "code": everything["code"], "constant": everything["code"].co_consts[0], "generator": everything["generators"][3], "module": everything["modules"],
    "own dict": everything["plain"][62].__dict__, "element tree": everything["element"][3], "error": everything["errors"][0].args,
    "cycle": everything, "self": everything["self"], "context": everything["variable"], "enum": Colour.RED, "late": everything["subclasses"][0],
})
collector()
stop()
gc.unfreeze()
referrers()
stop()
