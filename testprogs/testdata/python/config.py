"""Tells how its interpreter was built and started, and stops by a signal."""
import ctypes
import json
import os
import signal
import sys
import sysconfig

signal.signal(signal.SIGUSR1, lambda *_: None)
name = ctypes.pythonapi._PyMem_GetCurrentAllocatorName
name.restype = ctypes.c_char_p
flags = sys.flags
told = {
    "full_version": sys.version,
    "executable": sys.executable,
    "prefix": sys.prefix,
    "base_prefix": sys.base_prefix,
    "argv": sys.argv,
    "original_argv": getattr(sys, "orig_argv", None),
    "sys_path": sys.path,
    "flags": {k: repr(getattr(flags, k)) for k in dir(flags) if k[0] != "_" and k not in ("count", "index", "n_fields", "n_sequence_fields", "n_unnamed_fields")},
    "build": [k for k in ("Py_DEBUG", "Py_REF_DEBUG", "Py_TRACE_REFS", "COUNT_ALLOCS", "WITH_PYMALLOC")
              if sysconfig.get_config_var(k) or k == "Py_REF_DEBUG" and sysconfig.get_config_var("Py_DEBUG")],
    "gil": not sysconfig.get_config_var("Py_GIL_DISABLED"),
    "allocator": (name() or b"").decode(),
}
print(json.dumps(told), flush=True)
if hasattr(sys, "gettotalrefcount"):
    print(sys.gettotalrefcount(), flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
