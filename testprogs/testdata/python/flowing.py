"""Runs the extension of flow.pyx, whose path is given; with `trace`, it tells the lines that
Cython's linetrace reports, in order, as JSON; with `fail`, the tracebacks of its errors."""
import json
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import flow

lines = []


def trace(frame, event, arg):
    if event == "line" and frame.f_code.co_filename.endswith("flow.pyx"):
        lines.append([frame.f_code.co_name, frame.f_lineno])
    return trace


def stack(n):
    """Called by each function that fails, innermost: it allocates a block by which hdb stops."""
    bytearray(12344)
    raise ValueError(n)


if sys.argv[2:] == ["trace"]:
    sys.settrace(trace)
    flow.run()
    sys.settrace(None)
    print(json.dumps(lines))
elif sys.argv[2:] == ["fail"]:
    told = []
    for n in range(flow.FAILURES):
        try:
            flow.fail(n, stack)
        except ValueError as e:
            told.append([[f.name, f.lineno] for f in traceback.extract_tb(e.__traceback__) if f.filename.endswith("flow.pyx")])
    print(json.dumps(told))
else:
    flow.run()
