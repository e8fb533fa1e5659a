# Run by gdb for package oracle: executes the commands that come on standard input, one a
# line, and answers each with where the program stands then, as JSON.
import gdb
import json
import os
import sys


def where():
    try:
        f = gdb.newest_frame()
    except gdb.error:
        return {"ended": True}
    sal = f.find_sal()
    return {
        "pc": f.pc(),
        "function": f.name() or "",
        "file": os.path.basename(sal.symtab.filename) if sal.symtab else "",
        "line": sal.line if sal.symtab else 0,
        "inlined": f.type() == gdb.INLINE_FRAME,
    }


out = os.fdopen(int(os.environ["ANSWERS"]), "w")
for line in sys.stdin:
    answer = {}
    try:
        gdb.execute(line.strip(), to_string=True)
        answer = where()
    except gdb.error as e:
        answer = dict(where(), error=str(e))
    json.dump(answer, out)
    out.write("\n")
    out.flush()
