"""Fills the arenas of pymalloc and leaves holes in them, and prints what the interpreter itself
tells of them: sys._debugmallocstats() writes to the file of its first argument."""
import gc
import os
import sys

out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
os.dup2(out, 2)
gc.disable()

sys._debugmallocstats()
kept = [bytes(i % 520) for i in range(30000)]
lists = {i: [i, (i,)] for i in range(20000)}
sys._debugmallocstats()
del kept[500:25000]
for i in range(0, 20000, 3):
    del lists[i]
sys._debugmallocstats()
del lists, kept
sys._debugmallocstats()
