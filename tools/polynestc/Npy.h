/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Npy.h: arrays in NumPy's file format, versions 1 to 3 (numpy.org,
 * module numpy.lib.format).
 *
 * Files in Fortran order become views with column-major strides. Little endian
 * booleans, integers of 8 to 64 bits, and floats of 16 to 64 bits are read;
 * unsigned integers keep their bits. bf16 is stored as '<u2' and also read from
 * '|V2', where the program expects it.
 */
#ifndef POLYNESTC_NPY_H
#define POLYNESTC_NPY_H

#include "Array.h"

/* Reads a file whose elements the program takes as `expected`. What goes wrong
 * is reported. */
bool pn_npy_read(const char *path, pn_dtype_t expected, pn_array_t *out_array);

/* Writes a file that appears whole or not at all. What goes wrong is
 * reported. */
bool pn_npy_write(const char *path, const pn_array_t *array);

#endif /* POLYNESTC_NPY_H */
