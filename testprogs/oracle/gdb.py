# Run by gdb for package oracle. The variable query is set before: func,
# arg (the register with the size), min, library, first, last, depth, out.
import gdb
import json
import os
import re
import subprocess

# Allocator functions that call one another: a call from one of these is
# part of the outer call. gdb knows the inner names from libc's debug file.
ALLOCATORS = re.compile(
    r"^(__GI_|__libc_|__)*(_?(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|_mid_memalign|mid_memalign"
    r"|posix_memalign|valloc|pvalloc|strdup|strndup|wcsdup)|operator new.*)$"
)


def module_base(path_end):
    """The path of the first mapped file that ends so, and where it starts."""
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[2] == "00000000" and fields[5].strip().endswith(path_end):
                return fields[5].strip(), int(fields[0].split("-")[0], 16)
    return None, 0


def symbol_value(path, name):
    """The value of a defined dynamic function symbol, from readelf."""
    env = dict(os.environ, LC_ALL="C")
    out = subprocess.run(["readelf", "-W", "--dyn-syms", path], env=env, stdout=subprocess.PIPE, check=True).stdout
    for line in out.decode(errors="replace").splitlines():
        f = line.split()
        if len(f) >= 8 and f[3] == "FUNC" and f[6] != "UND" and f[7].split("@")[0] == name:
            return int(f[1], 16)
    raise gdb.GdbError("%s: no function %s" % (path, name))


def register(name):
    return int(gdb.selected_frame().read_register(name)) & (1 << 64) - 1


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")


class Record:
    def __init__(self):
        self.count = self.nested = 0
        self.stops = []
        self.inside = {}  # return address -> lies in an allocator function
        self.tail = None  # thread, stack pointer, return address of the last realloc(NULL)

    def is_nested(self):
        sp = register("rsp")
        back = word(sp)
        if self.tail == (gdb.selected_thread().ptid, sp, back):
            return True
        if back not in self.inside:
            text = gdb.execute("info symbol %d" % (back - 1), to_string=True)
            name = re.split(r" \+ | in section ", text)[0].split("@")[0]
            self.inside[back] = ALLOCATORS.match(name) is not None
        return self.inside[back]

    def hit(self, size):
        nested = self.is_nested()
        self.tail = None
        if nested:
            self.nested += 1
            return
        self.count += 1
        if query["first"] <= self.count <= query["last"]:
            self.stops.append({"nth": self.count, "size": size, "frames": frames(query["depth"])})


def frames(depth):
    out = []
    f = gdb.newest_frame()
    while f is not None and (depth == 0 or len(out) < depth):
        sal = f.find_sal()
        out.append(
            {
                "pc": f.pc(),
                "function": f.name() or "",
                "file": sal.symtab.fullname() if sal.symtab else "",
                "line": sal.line if sal.symtab else 0,
                "inlined": f.type() == gdb.INLINE_FRAME,
                "signal": f.type() == gdb.SIGTRAMP_FRAME,
                "tail": f.type() == gdb.TAILCALL_FRAME,
                "module": gdb.solib_name(f.pc()) or "",
            }
        )
        f = f.older()
    return out


class Entry(gdb.Breakpoint):
    """The function's first instruction; gdb itself checks the size."""

    def __init__(self, address):
        super().__init__("*%d" % address, internal=True)
        self.silent = True
        self.condition = "(unsigned long)$%s >= %dUL" % (query["arg"], query["min"])

    def reached(self):
        record.hit(register(query["arg"]))


class ReallocNull(gdb.Breakpoint):
    """realloc(NULL, n) jumps into malloc(n): remember that it did."""

    def __init__(self, address):
        super().__init__("*%d" % address, internal=True)
        self.silent = True
        self.condition = "$rdi == 0 && (unsigned long)$rsi >= %dUL" % query["min"]

    def reached(self):
        sp = register("rsp")
        record.tail = (gdb.selected_thread().ptid, sp, word(sp))


def main():
    gdb.execute("starti", to_string=True)
    gdb.execute("set stop-on-solib-events 1")
    path, base = module_base(query["library"])
    while path is None:
        gdb.execute("continue", to_string=True)
        if gdb.selected_inferior().pid == 0:
            raise gdb.GdbError("the program ended before it loaded " + query["library"])
        path, base = module_base(query["library"])
    gdb.execute("set stop-on-solib-events 0")
    Entry(base + symbol_value(path, query["func"]))
    if query["func"] == "malloc":
        ReallocNull(base + symbol_value(path, "realloc"))
    status = []
    reached = []
    gdb.events.exited.connect(lambda e: status.append(getattr(e, "exit_code", -1)))
    gdb.events.stop.connect(lambda e: reached.extend(getattr(e, "breakpoints", [])))
    while not status:
        gdb.execute("continue", to_string=True)
        if not status and not reached:
            raise gdb.GdbError("stopped for no breakpoint: " + gdb.execute("info program", to_string=True))
        while reached:
            reached.pop().reached()
    result = {"count": record.count, "nested": record.nested, "exit": status[0], "stops": record.stops}
    with open(query["out"], "w") as out:
        json.dump(result, out)


record = Record()
main()
