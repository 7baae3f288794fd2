#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes one array as a .npy file: npy.py FILE DTYPE SHAPE VALUES.

DTYPE is a numpy type string without byte order (f4, f8, i1, i4, i8, b1, ...)
or one of f2bits, f4bits, f8bits, whose values are bit patterns. SHAPE is sizes
separated by commas, empty for rank 0. VALUES are separated by spaces or commas;
nan, inf, -inf and -0.0 are understood, and A..B counts integers from A up to,
but without, B. Too few values are repeated. Needs no numpy.
"""
import struct
import sys

FORMATS = {
    "f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i",
    "i8": "q", "b1": "?", "f2bits": "H", "f4bits": "I", "f8bits": "Q",
}


def parse_values(text, integer):
    values = []
    for word in text.replace(",", " ").split():
        if ".." in word:
            low, high = word.split("..")
            values.extend(range(int(low), int(high)))
        else:
            values.append(int(word, 0) if integer else float(word))
    return values


def main():
    path, dtype, shape_text, values_text = sys.argv[1:5]
    letter = FORMATS[dtype]
    shape = tuple(int(n) for n in shape_text.split(",") if n)
    count = 1
    for size in shape:
        count *= size
    values = parse_values(values_text, letter not in "efd")
    data = b"".join(
        struct.pack("<" + letter, values[i % len(values)])
        for i in range(count))
    code = dtype.replace("bits", "")
    descr = ("|" if code in ("i1", "b1") else "<") + code
    header = str({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


if __name__ == "__main__":
    main()
