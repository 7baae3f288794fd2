# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes .npy files into a folder, without NumPy."""
import struct
import sys


def write(name, descr, shape, data, fortran=False, version=1, pad=64):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (
        descr, fortran, shape)
    start = 10 if version == 1 else 12
    text += " " * (-(start + len(text) + 1) % pad) + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]) + size +
                   text.encode() + data)


values = [0, 1, 2, 3, 4, -5.5]
f32 = struct.pack("<6f", *values)
write("c", "<f4", (2, 3), f32)
write("fortran", "<f4", (2, 3), struct.pack("<6f", 0, 3, 1, 4, 2, -5.5), True)
write("v2", "<f4", (2, 3), f32, version=2)
write("f16", "<f2", (2, 3), struct.pack("<6e", *values))
bf16 = b"".join(struct.pack("<f", v)[2:] for v in values)
write("bf16", "<u2", (2, 3), bf16)
write("v2bytes", "|V2", (2, 3), bf16)
write("bool", "|b1", (2, 3), bytes([1, 0, 1, 0, 0, 1]))
write("i64", "<i8", (2, 3),
      struct.pack("<6q", -2**63, 1, 2, 3, 4, 2**63 - 1))
write("scalar", "<f8", (), struct.pack("<d", 0.1))
write("empty", "<f4", (0, 3), b"")
write("big", ">f4", (2, 3), f32)
