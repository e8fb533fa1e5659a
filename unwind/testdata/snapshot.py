"""gdb as the producer of test stacks: commands that write down what a stopped
program's registers, stack memory and mappings are, and gdb's own opinion of the
frames. The test reads snapshot.json and the files it names.

snap [all]    record the selected thread, or all threads
snapstep N    record, then N times: stepi and record
snapwrite     write snapshot.json into the current directory
"""

import json
import gdb

REGS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
WORD = (1 << 64) - 1

stops = []
maps = []


def register(frame, name):
    try:
        return int(frame.read_register(name)) & WORD
    except gdb.error:  # <not saved>, or memory that cannot be read
        return None


def frames(newest):
    out = []
    frame = newest
    while frame is not None and len(out) < 5000:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            out.append({
                "pc": frame.pc(),
                "name": frame.name() or "",
                "signal": frame.type() == gdb.SIGTRAMP_FRAME,
                "regs": {r: register(frame, r) for r in ("rsp", "rbx", "rbp", "r12", "r13", "r14", "r15")},
            })
        try:
            frame = frame.older()
        except gdb.error:
            frame = None
    return out


def read_maps():
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as f:
        maps.clear()
        for line in f:
            parts = line.split(None, 5)
            low, high = (int(x, 16) for x in parts[0].split("-"))
            maps.append({"low": low, "high": high, "perm": parts[1], "off": int(parts[2], 16),
                         "path": parts[5].strip() if len(parts) > 5 else ""})


def dump(low, size):
    name = "mem-%d-%x" % (len(stops), low)
    with open(name, "wb") as f:
        f.write(gdb.selected_inferior().read_memory(low, size).tobytes())
    return {"low": low, "file": name}


def record():
    frame = gdb.newest_frame()
    stop = {"frames": frames(frame), "regs": {r: register(frame, r) for r in REGS}, "memory": []}
    pointers = sorted(f["regs"]["rsp"] or 0 for f in stop["frames"])
    for m in maps:
        inside = [p for p in pointers if m["low"] <= p < m["high"]]
        if inside:
            low = max(m["low"], inside[0] - 1024)
            stop["memory"].append(dump(low, min(m["high"] - low, 8 << 20)))
        elif "x" in m["perm"] and m["path"] in ("", "[vdso]"):
            stop["memory"].append(dump(m["low"], m["high"] - m["low"]))
    stops.append(stop)


class Snap(gdb.Command):
    def __init__(self):
        super().__init__("snap", gdb.COMMAND_USER)

    def invoke(self, arg, from_tty):
        read_maps()
        if arg != "all":
            record()
            return
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            thread.switch()
            record()


class SnapStep(gdb.Command):
    def __init__(self):
        super().__init__("snapstep", gdb.COMMAND_USER)

    def invoke(self, arg, from_tty):
        read_maps()
        record()
        for _ in range(int(arg)):
            gdb.execute("stepi", to_string=True)
            record()


class SnapWrite(gdb.Command):
    def __init__(self):
        super().__init__("snapwrite", gdb.COMMAND_USER)

    def invoke(self, arg, from_tty):
        with open("snapshot.json", "w") as f:
            json.dump({"maps": maps, "stops": stops}, f)


Snap()
SnapStep()
SnapWrite()
