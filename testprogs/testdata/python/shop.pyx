# cython: language_level=3
"""A Cython extension with one of each kind of function: its tests, and the
session cython, run it."""

from libc.stdlib cimport malloc, free

cdef int total = 0
names = []


cdef class Stock:
    """What a shop has."""
    cdef int count
    cdef double price
    cdef public object label
    cdef char *buffer

    def __init__(self, label, double price):
        self.label = label
        self.price = price
        self.count = 0
        self.buffer = NULL

    def __dealloc__(self):
        free(self.buffer)

    cdef int grow(self, int by) except -1:
        cdef int before = self.count
        if by < 0:
            raise ValueError(by)
        free(self.buffer)
        self.buffer = <char *> malloc(1000 + by)
        self.count = before + by
        return self.count

    cpdef add(self, int by):
        cdef int now
        now = self.grow(by)
        return now


cdef int twice(int x):
    cdef int result
    result = x * 2
    return result


def total_of(stocks):
    global total
    cdef int sum = 0
    cdef Stock s
    for s in stocks:
        sum += s.add(3)
        total = sum
    names.append(f"{sum}")
    return twice(sum)


def counting(int n):
    cdef int i
    for i in range(n):
        yield total_of([Stock("x", 1.5)]) + i


def make_adder(int by):
    step = by * 2

    def adder(x):
        return x + step + by
    return adder


def run(callback):
    stocks = [Stock("apples", 0.5), Stock("pears", 0.75)]
    answer = total_of(stocks)
    for each in counting(2):
        answer += each
    answer += make_adder(4)(5)
    callback(answer)
    return answer


def fails(int n):
    cdef Stock s = Stock("bad", 1)
    s.add(
        n)
    return s
