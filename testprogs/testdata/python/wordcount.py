"""Counts the words of messages, split by the extension of tokens.c, whose path is given."""
import os
import sys

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import tokens


def count(counts, message):
    for word in tokens.split(message):
        counts[len(word)] = counts.get(len(word), 0) + 1


def main():
    counts = {}
    for number in range(1000):
        count(counts, f"message number {number:05} has a few words")
    print(sum(counts.values()), "words")


main()
