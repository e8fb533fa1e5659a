# Tells hdb what it is at. sys.argv[1] is the folder of hdb_mark.
import os
import sys

sys.path.insert(0, sys.argv[1])
import hdb_mark

kept = []


def inside(size):
    kept.append(bytearray(size))


def outside(size):
    kept.append(bytearray(size))


hdb_mark.mark("loaded")
outside(101_000)
with hdb_mark.record():
    inside(102_000)
    with hdb_mark.record():
        inside(103_000)
    inside(104_000)
outside(105_000)
del kept[1]  # of 102,000, which is recorded
for i in range(3):
    with hdb_mark.phase("step"):
        outside(106_000)
hdb_mark.mark("a=b")
hdb_mark.mark("start")
hdb_mark.resume()
inside(107_000)
hdb_mark.pause()
os.unsetenv("hdb:mark:not one")  # another name
outside(108_000)
hdb_mark.break_()
print(len(kept), "\x01hdb:pause" in os.environ)
