/* The part of Python's stable ABI (3.11 and later, with the interpreter lock) that glue.c uses.

   It is declared here, so the library can be linked for a platform without that platform's Python headers. */

#ifndef POISE_PYTHON_ABI_H
#define POISE_PYTHON_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef intptr_t Py_ssize_t;

typedef struct PyObject {
    Py_ssize_t reference_count;
    struct PyObject *type;
} PyObject;

typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);

typedef struct {
    const char *name;
    PyCFunction function;
    int flags;
    const char *docstring;
} PyMethodDef;

typedef struct {
    PyObject head;
    PyObject *(*init)(void);
    Py_ssize_t index;
    PyObject *copy;
} PyModuleDefBase;

typedef struct {
    PyModuleDefBase base;
    const char *name, *docstring;
    Py_ssize_t size;
    PyMethodDef *methods;
    void *slots, *traverse, *clear, *free;
} PyModuleDef;

#define MODULE_DEFINITION_HEAD { { 1, NULL }, NULL, 0, NULL }
#define METH_VARARGS 0x01
#define METH_NOARGS 0x04
#define METH_FASTCALL 0x80
#define STABLE_ABI_VERSION 3
#define COMPARE_EQUAL 2 /* Py_EQ */

#ifdef _WIN32
#define PYTHON_API __declspec(dllimport)
#define MODULE_INIT __declspec(dllexport) PyObject *
#else
#define PYTHON_API extern
#define MODULE_INIT __attribute__((visibility("default"))) PyObject *
#endif

PYTHON_API PyObject _Py_NoneStruct;
PYTHON_API PyObject *PyExc_TypeError, *PyExc_ValueError, *PyExc_RuntimeError;

PYTHON_API void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
PYTHON_API PyObject *PyErr_Occurred(void), *PyErr_Format(PyObject *, const char *, ...);
PYTHON_API int PyArg_ParseTuple(PyObject *, const char *, ...);
PYTHON_API int PyObject_IsTrue(PyObject *), PyObject_IsInstance(PyObject *, PyObject *);
PYTHON_API int PyObject_RichCompareBool(PyObject *, PyObject *, int);
PYTHON_API PyObject *PyObject_GetAttrString(PyObject *, const char *);
PYTHON_API PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
PYTHON_API long long PyLong_AsLongLong(PyObject *);
PYTHON_API double PyFloat_AsDouble(PyObject *);
PYTHON_API PyObject *PyLong_FromLongLong(long long), *PyBool_FromLong(long), *PyFloat_FromDouble(double);
PYTHON_API PyObject *PyUnicode_FromString(const char *);
PYTHON_API PyObject *PyTuple_New(Py_ssize_t), *PyDict_New(void);
PYTHON_API int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
PYTHON_API int PyDict_SetItemString(PyObject *, const char *, PyObject *);
PYTHON_API PyObject *PyCapsule_New(void *, const char *, void *);
PYTHON_API void *PyCapsule_GetPointer(PyObject *, const char *);
PYTHON_API PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
PYTHON_API PyObject *PyModule_Create2(PyModuleDef *, int), *PyImport_ImportModule(const char *);
PYTHON_API int PyModule_AddObject(PyObject *, const char *, PyObject *);
PYTHON_API void *PyEval_SaveThread(void);
PYTHON_API void PyEval_RestoreThread(void *);

#endif
