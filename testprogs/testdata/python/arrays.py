"""Stops with arrays and scalars of numpy in its variables."""
import numpy, signal
class Frame(numpy.ndarray):
    pass
def f():
    a = numpy.arange(12, dtype="int32").reshape(3,4)
    b = a[::2, 1]
    c = numpy.float64(2.5)
    d = numpy.array(["x","yy"])
    e = numpy.zeros(0)
    g = numpy.array(7)
    h = numpy.zeros((2,), dtype=[("p","i4"),("q","f8")])
    i = numpy.array([1.5, -2], dtype="f4")[::-1]
    j = numpy.array([1, 2, 70000], dtype=">i4")
    k = numpy.array([1+2j, -0.5j])
    l = numpy.array([None, "text"], dtype=object)
    m = numpy.int16(-3)
    n = numpy.array([True, False])
    o = a.view(Frame)
    p = numpy.bool_(True)
    q = numpy.uint64(2**64-1)
    signal.raise_signal(signal.SIGUSR1)
f()
