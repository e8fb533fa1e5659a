"""Tells the texts of its variables, and stops by a signal."""
import collections
import dataclasses
import datetime
import enum
import json
import os
import signal
import types

signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class Point:
    def __init__(self):
        self.x = 1
        self.name = "é日本😀"
        self.me = self


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 5
        self.b = [1]


class Colour(enum.Enum):
    RED = "r"


class Number(enum.IntEnum):
    SEVEN = 7


class Choice(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Record:
    a: int
    b: str = "x"
    hidden = 3


Pair = collections.namedtuple("Pair", "x y")


class Node:
    kind = "node"

    def __init__(self, rows):
        self.__secret = 3
        self.rows = rows

    @property
    def computed(self):
        return 1


class Both(Slots):
    def __init__(self):
        super().__init__()
        self.extra = None


WORDS = {"é": 1}
len_of = (1, 2)


def values(argument, *rest, keyword=3, **others):
    zero = 0
    one = 1
    minus = -5
    big = 2**100
    negative = -2**70
    limit = 2**30
    single = (1,)
    nothing = ()
    numbers = list(range(20))
    tree = {"a": 1, 2: [3, (4, "5")]}
    empty = {}
    deleted = {k: 1 for k in range(5)}
    del deleted[2]
    chosen = {7}
    frozen = frozenset([9])
    none_of_them = set()
    half = 1.5
    whole = 2.0
    large = 1e300
    small = 2.5e-7
    infinite = float("inf")
    raw = b"ab\x00\xff"
    nil = None
    true = True
    false = False
    ascii_text = "plain"
    quoted = 'it\'s "q"'
    latin = "é"
    wide = "日本"
    astral = "a😀"
    lines = "a\n\tb\\"
    odd = "\x07\x7f\xad\u200b\ud800\U000e0001"
    apostrophe = b"it's\t\n\x7f"
    thousands = 1234567.5
    millions = 1e15
    minus_zero = -0.0
    nan = float("nan")
    z = 1 - 2.5j
    j = 3j
    sixteen = 1e16
    span = range(5)
    steps = range(10, 0, -2)
    array = bytearray(b"ab\0")
    queue = collections.deque(range(3), maxlen=5)
    queue.popleft()
    spread = collections.deque([1])
    colour = Colour.RED
    number = Number.SEVEN
    choice = Choice.A
    record = Record(1)
    pair = Pair(1, [2])
    wrong = ValueError("bad", 3)
    absent = KeyError("k")
    no_words = RuntimeError()
    bag = collections.defaultdict(list, {1: [2]})
    moment = datetime.datetime(2026, 11, 26, 10, 5, 1, 7, tzinfo=datetime.timezone.utc)
    noon = datetime.datetime(2026, 11, 26, 12, 0)
    day = datetime.date(2020, 1, 2)
    clock = datetime.time(1, 2, 3, fold=1)
    delta = datetime.timedelta(days=-1, seconds=5)
    no_time = datetime.timedelta()
    zone = datetime.timezone(datetime.timedelta(hours=1), "X")
    known = json.dumps({k: repr(v) for k, v in sorted(locals().items())})
    point = Point()
    slots = Slots()
    both = Both()
    later = Point()
    later.__dict__["more"] = 2
    circle = []
    circle.append(circle)
    cell = 7
    gone = 1
    del gone
    kept_cell = types.CellType(5)
    node = Node(list(range(1000)))
    table = {"key": [1, {"z": "deep"}], 5: "five", (1, "a"): "tuple", b"b": "bytes", None: "none", 2**70: "big", -1: "minus"}
    many = {str(i): i for i in range(3000)}
    long_queue = collections.deque(range(1000))
    long_queue.rotate(100)
    asked = [
        "argument", "rest[0]", "rest[-1]", "len(rest)", "keyword", "others['other']", "cell", "WORDS", "WORDS['é']", "len(len_of)",
        "table['key'][1]['z']", "table[5]", "table[1,'a']", "table[(1, 'a')]", "table[b'b']", "table[None]", "table[0x400000000000000000]", "table[-1]",
        "node.rows[999]", "node.rows[10:13]", "node.rows[-2:]", "node.rows[:2]", "node.rows[5:7][1]", "len(node.rows[5:7])", "node.kind", "node._Node__secret",
        "pair.y[0]", "pair.x", "record.b", "record.hidden", "slots.b[0]", "both.extra", "Colour.RED", "colour._value_", "point.me.me.x",
        "many['2999']", "len(many)", "long_queue[0]", "long_queue[777]", "len(long_queue)", "steps[1]", "len(steps)", "array[1]", "array[1:2]", "raw[3]",
        "wide[1]", "astral[0:2]", "len(astral)", "len(frozen)", "wrong.args", "( node ).rows[ 1 ]", "Node.kind", "types.CellType", "single[0:1]", "nothing[0:0]",
    ]
    expressions = json.dumps(dict(zip(asked, map(repr, map(eval, asked, [globals()] * 100, [locals()] * 100)))))

    def inner():
        return cell

    print("locals " + known, flush=True)
    print("expressions " + expressions, flush=True)
    os.kill(os.getpid(), signal.SIGUSR1)
    return inner


values(1, 2, 3, other=4)
