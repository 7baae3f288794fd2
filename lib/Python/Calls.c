/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Python/Calls.c: calls of compiled code from Python, with torch tensors.
 *
 * The extension module `polynest_calls` has one function, `make`, whose result
 * does at a call what text in Python would do: it reads the addresses of its
 * arguments, makes the results, calls the entry and gives a list. It knows
 * neither torch nor libpolynest: tensors are read and made through the table of
 * C functions that DLPack has their type carry (`__dlpack_c_exchange_api__`,
 * version 1), and the library's functions come as addresses. Whatever is not as
 * it was expected, types of arguments, strides, devices, goes to a function of
 * Python's that takes all of it.
 *
 * Python's limited API of 3.10: one file serves all later versions. Calls of
 * several threads may overlap; the entry runs without the interpreter's lock.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include "polynest/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ */
/* DLPack, version 1                                                        */
/* ------------------------------------------------------------------------ */

#define DLPACK_MAJOR 1
#define DLPACK_CPU 1

typedef struct dl_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t *sizes;
  int64_t *strides;
  uint64_t byte_offset;
} dl_tensor_t;

typedef struct dl_managed {
  uint32_t major;
  uint32_t minor;
  void *context;
  void (*deleter)(struct dl_managed *self);
  uint64_t flags;
  dl_tensor_t tensor;
} dl_managed_t;

typedef struct dl_exchange {
  uint32_t major;
  uint32_t minor;
  void *previous;
  void *allocate;
  void *managed_from_object;
  int (*object_from_managed)(dl_managed_t *tensor, void **out_object);
  int (*tensor_from_object)(void *object, dl_tensor_t *out_tensor);
  void *current_stream;
} dl_exchange_t;

/* ------------------------------------------------------------------------ */
/* What a call is like                                                      */
/* ------------------------------------------------------------------------ */

/* Descriptors of a call are copied to the stack. */
#define MEMREF_COUNT_MAX 64
#define RESULT_COUNT_MAX 16
#define HEAD_ALIGNMENT 64

typedef void *(*invoke_fn)(void *entry, const pn_memref_t *inputs,
                           size_t input_count, pn_memref_t *results,
                           size_t result_count);

/* An argument of the call that is one of the entry's. */
typedef struct call_input {
  Py_ssize_t source;
  Py_ssize_t memref;
  int32_t rank;
  int64_t *strides; /* those of the tensor; the entry may see it otherwise */
} call_input_t;

/* Either a block of the pool, which begins with the description that torch
 * takes it by, or what `arguments` make torch.empty_strided give. */
typedef struct call_result {
  dl_managed_t *head; /* the same for all calls but for addresses, or NULL */
  size_t head_bytes;
  size_t bytes;
  PyObject *arguments;
  PyObject *keywords;
} call_result_t;

typedef struct call {
  invoke_fn invoke;
  void *(*pool_alloc)(size_t bytes);
  void (*pool_free)(void *block);
  const dl_exchange_t *exchange;
  void *entry;
  Py_ssize_t argument_count; /* at least */
  size_t memref_input_count;
  size_t memref_count;
  size_t input_count;
  size_t result_count;
  pn_memref_t memrefs[MEMREF_COUNT_MAX];
  call_input_t inputs[MEMREF_COUNT_MAX];
  call_result_t results[RESULT_COUNT_MAX];
  /* Numbers of results, and other values, in the order of what is returned. */
  PyObject *plan;
  PyObject *types;    /* of arguments: tensors and nothing derived from them */
  PyObject *empty;    /* torch.empty_strided */
  PyObject *fallback; /* takes the arguments of any call */
  PyObject *check;    /* raises the exception for an error */
  PyObject *keep;     /* what the descriptors point to */
} call_t;

static const char capsule_name[] = "polynest_calls.call";

static void call_destroy(call_t *call) {
  if (!call)
    return;
  for (size_t i = 0; i < call->input_count; ++i)
    free(call->inputs[i].strides);
  for (size_t i = 0; i < call->result_count; ++i) {
    free(call->results[i].head);
    Py_XDECREF(call->results[i].arguments);
    Py_XDECREF(call->results[i].keywords);
  }
  Py_XDECREF(call->plan);
  Py_XDECREF(call->types);
  Py_XDECREF(call->empty);
  Py_XDECREF(call->fallback);
  Py_XDECREF(call->check);
  Py_XDECREF(call->keep);
  free(call);
}

static void capsule_destroy(PyObject *capsule) {
  call_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

/* ------------------------------------------------------------------------ */
/* A call                                                                   */
/* ------------------------------------------------------------------------ */

static PyObject *call_otherwise(const call_t *call, PyObject *const *arguments,
                                Py_ssize_t count) {
  PyObject *tuple = PyTuple_New(count);
  if (!tuple)
    return NULL;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(tuple, i, arguments[i]);
  }
  PyObject *out = PyObject_Call(call->fallback, tuple, NULL);
  Py_DECREF(tuple);
  return out;
}

static bool type_is_known(const call_t *call, PyObject *object) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  Py_ssize_t count = PyTuple_Size(call->types);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GetItem(call->types, i) == type)
      return true;
  return false;
}

/* Where the elements of a tensor with the input's strides are; false for any
 * other. */
static bool tensor_address(const call_t *call, PyObject *object,
                           const call_input_t *input, void **out_address) {
  dl_tensor_t tensor;
  if (call->exchange->tensor_from_object(object, &tensor)) {
    PyErr_Clear();
    return false;
  }
  if (tensor.device_type != DLPACK_CPU || tensor.rank != input->rank)
    return false;
  for (int32_t d = 0; d < tensor.rank; ++d)
    if (tensor.strides[d] != input->strides[d])
      return false;
  *out_address = (char *)tensor.data + tensor.byte_offset;
  return true;
}

static PyObject *pooled_new(const call_t *call, const call_result_t *result,
                            void **out_address) {
  char *block = call->pool_alloc(result->bytes);
  if (!block)
    return PyErr_NoMemory();
  dl_managed_t *head = memcpy(block, result->head, result->head_bytes);
  head->tensor.data = block + result->head_bytes;
  head->tensor.sizes = (int64_t *)(void *)(head + 1);
  head->tensor.strides = head->tensor.sizes + head->tensor.rank;
  *out_address = head->tensor.data;
  void *object = NULL;
  if (call->exchange->object_from_managed(head, &object)) {
    call->pool_free(block);
    return NULL;
  }
  return object;
}

static PyObject *result_new(const call_t *call, const call_result_t *result,
                            void **out_address) {
  if (result->head)
    return pooled_new(call, result, out_address);
  PyObject *object =
      PyObject_Call(call->empty, result->arguments, result->keywords);
  dl_tensor_t tensor;
  if (!object || call->exchange->tensor_from_object(object, &tensor)) {
    Py_XDECREF(object);
    return NULL;
  }
  *out_address = tensor.data;
  return object;
}

static PyObject *raise_error(const call_t *call, void *error) {
  PyObject *number = PyLong_FromVoidPtr(error);
  if (!number)
    return NULL;
  Py_XDECREF(PyObject_CallFunctionObjArgs(call->check, number, NULL));
  Py_DECREF(number);
  return NULL;
}

/* What a call returns, of its results. */
static PyObject *listed(const call_t *call, PyObject *const *results) {
  Py_ssize_t count = PyTuple_Size(call->plan);
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    PyObject *item = PyTuple_GetItem(call->plan, i);
    if (PyLong_CheckExact(item))
      item = results[PyLong_AsSsize_t(item)];
    else
      item = PyTuple_GetItem(item, 0);
    Py_INCREF(item);
    PyList_SetItem(list, i, item);
  }
  return list;
}

static PyObject *call_run(PyObject *self, PyObject *const *arguments,
                          Py_ssize_t count) {
  const call_t *call = PyCapsule_GetPointer(self, capsule_name);
  if (!call)
    return NULL;
  if (count < call->argument_count)
    return call_otherwise(call, arguments, count);
  pn_memref_t memrefs[MEMREF_COUNT_MAX];
  memcpy(memrefs, call->memrefs, call->memref_count * sizeof(pn_memref_t));
  for (size_t i = 0; i < call->input_count; ++i) {
    const call_input_t *input = &call->inputs[i];
    PyObject *object = arguments[input->source];
    if (!type_is_known(call, object) ||
        !tensor_address(call, object, input, &memrefs[input->memref].data))
      return call_otherwise(call, arguments, count);
  }
  PyObject *results[RESULT_COUNT_MAX], *out = NULL;
  pn_memref_t *written = memrefs + call->memref_input_count;
  size_t made = 0;
  for (; made < call->result_count; ++made) {
    results[made] = result_new(call, &call->results[made], &written[made].data);
    if (!results[made])
      goto done;
  }
  PyThreadState *state = PyEval_SaveThread();
  void *error = call->invoke(call->entry, memrefs, call->memref_input_count,
                             written, call->result_count);
  PyEval_RestoreThread(state);
  out = error ? raise_error(call, error) : listed(call, results);
done:
  for (size_t i = 0; i < made; ++i)
    Py_DECREF(results[i]);
  return out;
}

static PyMethodDef run_definition = {
    "run_region", (PyCFunction)(void (*)(void))call_run, METH_FASTCALL,
    "Calls compiled code with tensors; gives a list."};

/* ------------------------------------------------------------------------ */
/* Making one                                                               */
/* ------------------------------------------------------------------------ */

/* The numbers of a tuple; false with an exception for anything else. */
static bool read_numbers(PyObject *tuple, int64_t *out, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PyTuple_GetItem(tuple, i);
    out[i] = item ? PyLong_AsLongLong(item) : -1;
    if (out[i] == -1 && PyErr_Occurred())
      return false;
  }
  return true;
}

/* (source, memref, strides) of each argument that the entry takes. */
static bool read_inputs(call_t *call, PyObject *inputs) {
  Py_ssize_t count = PyTuple_Size(inputs);
  if (count > MEMREF_COUNT_MAX)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    call_input_t *input = &call->inputs[i];
    call->input_count = (size_t)i + 1;
    PyObject *item = PyTuple_GetItem(inputs, i), *strides;
    if (!PyTuple_Check(item) ||
        !PyArg_ParseTuple(item, "nnO!", &input->source, &input->memref,
                          &PyTuple_Type, &strides))
      return false;
    Py_ssize_t rank = PyTuple_Size(strides);
    if (input->source < 0 || input->source >= call->argument_count ||
        input->memref < 0 ||
        (size_t)input->memref >= call->memref_input_count ||
        rank > PN_MEMREF_RANK_MAX)
      return false;
    input->rank = (int32_t)rank;
    input->strides = calloc((size_t)rank + 1, sizeof(int64_t));
    if (!input->strides || !read_numbers(strides, input->strides, rank))
      return false;
  }
  return true;
}

/* A result of the pool: (code, bits, sizes); strides are those of rows. */
static bool read_pooled(call_t *call, call_result_t *result, PyObject *item) {
  int code, bits;
  PyObject *sizes;
  if (!PyArg_ParseTuple(item, "iiO!", &code, &bits, &PyTuple_Type, &sizes))
    return false;
  Py_ssize_t rank = PyTuple_Size(sizes);
  if (rank > PN_MEMREF_RANK_MAX)
    return false;
  size_t fixed = sizeof(dl_managed_t) + 2 * sizeof(int64_t) * (size_t)rank;
  size_t head_bytes =
      (fixed + HEAD_ALIGNMENT - 1) / HEAD_ALIGNMENT * HEAD_ALIGNMENT;
  dl_managed_t *head = calloc(1, head_bytes);
  if (!head)
    return false;
  result->head = head;
  result->head_bytes = head_bytes;
  head->major = DLPACK_MAJOR;
  /* The description stands at the start of the block. */
  head->deleter = (void (*)(dl_managed_t *))(void (*)(void))call->pool_free;
  head->tensor.device_type = DLPACK_CPU;
  head->tensor.rank = (int32_t)rank;
  head->tensor.code = (uint8_t)code;
  head->tensor.bits = (uint8_t)bits;
  head->tensor.lanes = 1;
  int64_t *numbers = (int64_t *)(void *)(head + 1);
  if (!read_numbers(sizes, numbers, rank))
    return false;
  size_t bytes = (size_t)bits / 8;
  int64_t step = 1;
  for (Py_ssize_t d = rank - 1; d >= 0; --d) {
    numbers[rank + d] = step;
    if (numbers[d] < 1 ||
        __builtin_mul_overflow(bytes, (size_t)numbers[d], &bytes) ||
        __builtin_mul_overflow(step, numbers[d], &step))
      return false;
  }
  return !__builtin_add_overflow(bytes, head_bytes, &result->bytes);
}

/* Of each result what read_pooled takes, or (arguments, keywords). */
static bool read_results(call_t *call, PyObject *results) {
  Py_ssize_t count = PyTuple_Size(results);
  if (count > RESULT_COUNT_MAX ||
      call->memref_input_count + (size_t)count != call->memref_count)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    call_result_t *result = &call->results[i];
    call->result_count = (size_t)i + 1;
    PyObject *item = PyTuple_GetItem(results, i);
    if (!PyTuple_Check(item))
      return false;
    if (PyTuple_Size(item) == 3) {
      if (!read_pooled(call, result, item))
        return false;
      continue;
    }
    if (!PyArg_ParseTuple(item, "O!O!", &PyTuple_Type, &result->arguments,
                          &PyDict_Type, &result->keywords)) {
      result->arguments = result->keywords = NULL;
      return false;
    }
    Py_INCREF(result->arguments);
    Py_INCREF(result->keywords);
  }
  return true;
}

/* Numbers of results, and other values in tuples of one. */
static bool check_plan(const call_t *call) {
  Py_ssize_t count = PyTuple_Size(call->plan);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PyTuple_GetItem(call->plan, i);
    if (PyLong_CheckExact(item)) {
      Py_ssize_t number = PyLong_AsSsize_t(item);
      if (number < 0 || (size_t)number >= call->result_count)
        return false;
    } else if (!PyTuple_CheckExact(item) || PyTuple_Size(item) != 1) {
      return false;
    }
  }
  return true;
}

static const char make_text[] =
    "make((invoke, pool_alloc, pool_free, entry), exchange, memrefs, keep, "
    "input_count,\n     argument_count, inputs, results, plan, types, empty, "
    "fallback, check)\n\nA function that calls the entry. `memrefs` are the "
    "descriptors as bytes, `inputs`\n(argument, descriptor, strides), "
    "`results` (code, bits, sizes) for those\nfrom the pool, or what `empty` "
    "is called with; `plan` has numbers of results and\nother values in tuples "
    "of one. ValueError where any of it does not fit.";

static PyObject *make(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long invoke, alloc, release, entry;
  PyObject *exchange, *keep, *inputs, *results, *plan, *types, *empty,
      *fallback, *check;
  const char *memrefs;
  Py_ssize_t bytes, input_count, argument_count;
  if (!PyArg_ParseTuple(arguments, "(KKKK)Oy#OnnO!O!O!O!OOO", &invoke, &alloc,
                        &release, &entry, &exchange, &memrefs, &bytes, &keep,
                        &input_count, &argument_count, &PyTuple_Type, &inputs,
                        &PyTuple_Type, &results, &PyTuple_Type, &plan,
                        &PyTuple_Type, &types, &empty, &fallback, &check))
    return NULL;
  const dl_exchange_t *table =
      PyCapsule_GetPointer(exchange, "dlpack_exchange_api");
  if (!table)
    return NULL;
  call_t *call = calloc(1, sizeof(*call));
  if (!call)
    return PyErr_NoMemory();
  call->invoke = (invoke_fn)(uintptr_t)invoke;
  call->pool_alloc = (void *(*)(size_t))(uintptr_t)alloc;
  call->pool_free = (void (*)(void *))(uintptr_t)release;
  call->entry = (void *)(uintptr_t)entry;
  call->exchange = table;
  call->argument_count = argument_count;
  call->memref_input_count = (size_t)input_count;
  call->memref_count = (size_t)bytes / sizeof(pn_memref_t);
  PyObject **const held[] = {&call->plan,     &call->types, &call->empty,
                             &call->fallback, &call->check, &call->keep};
  PyObject *const given[] = {plan, types, empty, fallback, check, keep};
  for (size_t i = 0; i < sizeof(held) / sizeof(*held); ++i) {
    Py_INCREF(given[i]);
    *held[i] = given[i];
  }
  PyObject *capsule = NULL, *function = NULL;
  if (table->major != DLPACK_MAJOR || !table->tensor_from_object ||
      !table->object_from_managed || input_count < 0 ||
      call->memref_count > MEMREF_COUNT_MAX)
    goto refused;
  memcpy(call->memrefs, memrefs, call->memref_count * sizeof(pn_memref_t));
  if (!read_inputs(call, inputs) || !read_results(call, results) ||
      !check_plan(call))
    goto refused;
  capsule = PyCapsule_New(call, capsule_name, capsule_destroy);
  if (!capsule)
    goto refused;
  function = PyCFunction_New(&run_definition, capsule);
  Py_DECREF(capsule);
  return function;
refused:
  call_destroy(call);
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_ValueError, "not what a call in C takes");
  return NULL;
}

static PyMethodDef methods[] = {{"make", make, METH_VARARGS, make_text},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "polynest_calls",
    "Calls of compiled code with torch tensors.",
    0,
    methods,
    NULL,
    NULL,
    NULL,
    NULL};

PyMODINIT_FUNC PyInit_polynest_calls(void);

PyMODINIT_FUNC PyInit_polynest_calls(void) {
  return PyModule_Create(&definition);
}
