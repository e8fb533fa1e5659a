# Run by gdb for package oracle. The variable plan is set before: stops (place, ignore,
# steps, finish), depth, program (the end of its path), out.
import gdb
import json
import re

# Registers that a called function may overwrite.
OVERWRITTEN = re.compile(r"\$(rax|rcx|rdx|rsi|rdi|r8|r9|r10|r11|xmm\d+)\b")


def variables(text):
    """NAME = VALUE lines of info locals and info args."""
    out = []
    for line in text.splitlines():
        name, sep, value = line.partition(" = ")
        if sep:
            out.append({"name": name, "value": value})
    return out


def blocks(f):
    """The blocks around the frame's PC, up to its function."""
    out = []
    try:
        block = f.block()
    except RuntimeError:
        return out
    while block is not None and not block.is_static:
        out.append(block)
        if block.function is not None:
            return out
        block = block.superblock
    return []


def constants(f):
    """Local constants, which info locals leaves out."""
    out = []
    for block in blocks(f):
        for symbol in block:
            if symbol.is_constant and not symbol.is_argument and symbol.type.code != gdb.TYPE_CODE_ENUM:
                out.append({"name": symbol.name, "value": symbol.value(f).format_string()})
    return out


def entry_values(f):
    """What gdb knows that the caller passed, by argument. An inlined call passes nothing,
    and hdb does not look into functions that left by a jump."""
    out = []
    around = blocks(f)
    if f.type() != gdb.NORMAL_FRAME or not around:
        return out
    for symbol in around[-1]:
        if not symbol.is_argument:
            continue
        try:
            text = gdb.execute("output %s@entry" % symbol.name, to_string=True)
        except gdb.error:
            continue
        out.append({"name": symbol.name, "value": text.strip()})
    return out


def mark(variables, pc):
    """Marks what gdb reads in a register that the called function may have overwritten."""
    for v in variables:
        if v["value"] == "<optimized out>":
            continue
        try:
            text = gdb.execute("info address " + v["name"], to_string=True)
        except gdb.error:
            continue
        for low, high, place in re.findall(r"Range (0x[0-9a-f]+)-(0x[0-9a-f]+): (.*(?:\n(?!  Range ).*)*)", text):
            if int(low, 16) <= pc < int(high, 16):
                text = place
        v["overwritten"] = OVERWRITTEN.search(text) is not None


def frame(f, is_caller):
    sal = f.find_sal()
    out = {
        "pc": f.pc(),
        "function": f.name() or "",
        "file": sal.symtab.fullname() if sal.symtab else "",
        "line": sal.line if sal.symtab else 0,
        "inlined": f.type() == gdb.INLINE_FRAME,
        "tail": f.type() == gdb.TAILCALL_FRAME,
        "module": gdb.solib_name(f.pc()) or "",
    }
    if out["module"] == "" and sal.symtab:
        f.select()
        out["args"] = variables(gdb.execute("info args", to_string=True))
        # Where no function is around, gdb lists all variables of the file.
        out["locals"] = []
        if blocks(f):
            listed = variables(gdb.execute("info locals", to_string=True))
            names = {v["name"] for v in listed}
            out["locals"] = listed + [v for v in constants(f) if v["name"] not in names]
        if is_caller:
            mark(out["args"], f.pc() - 1)
            mark(out["locals"], f.pc() - 1)
        out["entry"] = entry_values(f)
    return out


def moment():
    out = []
    f, called = gdb.newest_frame(), False
    while f is not None and len(out) < plan["depth"]:
        out.append(frame(f, called))
        called = called or f.type() != gdb.INLINE_FRAME
        f = f.older()
    gdb.newest_frame().select()
    return {"frames": out}


def finish():
    """The value that finish keeps: after silent breakpoints it does not always print it."""
    marker = "no value"
    gdb.execute('print "%s"' % marker, to_string=True)
    gdb.execute("finish", to_string=True)
    text = gdb.execute("output $", to_string=True)
    return "" if text == '"%s"' % marker else text


def main():
    by_number = {}
    for stop in plan["stops"]:
        b = gdb.Breakpoint(stop["place"], temporary=True)
        b.silent = True
        b.ignore_count = stop["ignore"]
        by_number[b.number] = stop
    ended = []
    reached = []
    gdb.events.exited.connect(lambda e: ended.append(True))
    gdb.events.stop.connect(lambda e: reached.extend(b.number for b in getattr(e, "breakpoints", [])))
    out = []
    gdb.execute("run", to_string=True)
    while not ended:
        stops = [by_number[n] for n in reached if n in by_number]
        reached.clear()
        if not stops:
            raise gdb.GdbError("stopped for no breakpoint: " + gdb.execute("info program", to_string=True))
        stop = stops[0]
        for _ in range(stop["steps"]):
            gdb.execute("stepi", to_string=True)
        m = moment()
        m["place"], m["steps"] = stop["place"], stop["steps"]
        # Out of an inlined call finish steps by lines: no debugger has a value then.
        if stop["finish"] and gdb.newest_frame().type() == gdb.NORMAL_FRAME:
            reached.clear()
            m["returned"] = finish()
            m["after"] = gdb.newest_frame().pc() if gdb.selected_inferior().pid else 0
            # At a breakpoint gdb tells of that alone.
            m["finish"], m["moved"] = not reached, True
        out.append(m)
        reached.clear()
        if ended:
            break
        gdb.execute("continue", to_string=True)
    with open(plan["out"], "w") as to:
        json.dump(out, to)


main()
