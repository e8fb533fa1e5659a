"""Runs the extension of shop.pyx, whose path is given."""
import os
import sys

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import shop


def report(answer):
    print("answer", answer, flush=True)


def main():
    shop.run(report)


main()
