/* Python module of the kernels: checks and unpacks arguments, calls a kernel, and packs its results.

   The build writes table.h: MODULE_DEFINITION of names, signatures, stamps and entries for each processor level.
   Signatures are those of src/poise/kernels/entries.py: "F2 I1 f -> i". An entry takes its arguments as 64-bit slots:
   an array is its address and its extents, a number its bits. */

#include "python_abi.h"
#include <string.h>

typedef int32_t (*KernelEntry)(const int64_t *slots, int64_t *results);

typedef struct {
    const char *name, *signature;
    int releases_gil;
    KernelEntry entry;
} Kernel;

typedef struct {
    const char *name;
    int (*is_supported)(void);
    const Kernel *kernels;
    int kernel_count;
} Level;

typedef struct {
    const char *name, *stamp;
} Stamp;

/* A platform may leave out levels. */
#define LEVEL_TEST __attribute__((unused)) static int

#if defined(__x86_64__)
#include <cpuid.h>

static int has_bits(unsigned value, unsigned bits) { return (value & bits) == bits; }

/* Registers that the system saves at a switch of threads: bits of XCR0. */
static unsigned read_saved_registers(void) {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_bits(c, bit_OSXSAVE)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

LEVEL_TEST is_v2_supported(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) &&
           has_bits(c, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT | bit_CMPXCHG16B);
}

LEVEL_TEST is_v3_supported(void) {
    unsigned a, b, c, d;
    if (!is_v2_supported() || !has_bits(read_saved_registers(), 0x06)) return 0; /* SSE and AVX registers */
    __get_cpuid(1, &a, &b, &c, &d);
    if (!has_bits(c, bit_AVX | bit_FMA | bit_F16C | bit_MOVBE)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_bits(b, bit_AVX2 | bit_BMI | bit_BMI2)) return 0;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && has_bits(c, bit_LZCNT);
}

LEVEL_TEST is_v4_supported(void) {
    unsigned a, b, c, d;
    if (!is_v3_supported() || !has_bits(read_saved_registers(), 0xe6)) return 0; /* and those of AVX-512 */
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           has_bits(b, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);
}
LEVEL_TEST is_portable_supported(void) { return is_v2_supported(); }
#else /* all machines of AArch64 have the levels of their library */
LEVEL_TEST is_portable_supported(void) { return 1; }
LEVEL_TEST is_armv8_supported(void) { return 1; }
LEVEL_TEST is_m1_supported(void) { return 1; }
#endif

#include "table.h"

/* Head of NumPy's array object, the same in NumPy 1.26 to 2.5. */
typedef struct {
    PyObject head;
    char *data;
    int dimension_count;
    Py_ssize_t *extents, *strides;
    PyObject *base, *dtype;
    int flags;
} Array;

enum { C_ORDER = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400 };
enum { MAX_SLOTS = 192, MAX_RESULTS = 8, LANE_ALIGNMENT = 64 };

static PyObject *array_type, *numpy_bool_type, *float64_dtype, *int64_dtype, *bool_dtype;

/* --- Arguments ------------------------------------------------------------------------------------------------- */

static int is_dtype(PyObject *dtype, PyObject *expected) {
    /* Unpickled arrays have an equal dtype of their own. */
    return dtype == expected || PyObject_RichCompareBool(dtype, expected, COMPARE_EQUAL) == 1;
}

/* Fill the slots of an array; 0 with an exception if the kernel cannot take it. */
static int unpack_array(const Kernel *kernel, int index, PyObject *argument, const char *word, int64_t **slot) {
    int is_aligned = *word == 'a', is_written = is_aligned || *word == 's' || *word == 'w';
    if (is_written) word++;
    PyObject *expected = *word == 'F' ? float64_dtype : *word == 'I' ? int64_dtype : bool_dtype;
    const char *type_name = *word == 'F' ? "float64" : *word == 'I' ? "int64" : "bool";
    int dimension_count = word[1] - '0';
    if (argument->type != array_type && PyObject_IsInstance(argument, array_type) != 1) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d must be a NumPy array of %s", kernel->name, index, type_name);
        return 0;
    }
    Array *array = (Array *)argument;
    if (array->dimension_count != dimension_count || !is_dtype(array->dtype, expected)) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d must be an array of %s with %d dimensions", kernel->name, index,
                     type_name, dimension_count);
        return 0;
    }
    if ((array->flags & (C_ORDER | ALIGNED)) != (C_ORDER | ALIGNED)) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d must be in C order and aligned", kernel->name, index);
        return 0;
    }
    if (is_written && !(array->flags & WRITEABLE)) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d must be writeable", kernel->name, index);
        return 0;
    }
    int has_items = 1;
    for (int i = 0; i < dimension_count; i++) has_items = has_items && array->extents[i] > 0;
    if (is_aligned && has_items && (uintptr_t)array->data % LANE_ALIGNMENT) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d must be aligned to %d bytes", kernel->name, index,
                     LANE_ALIGNMENT);
        return 0;
    }
    *(*slot)++ = (int64_t)(intptr_t)array->data;
    for (int i = 0; i < dimension_count; i++) *(*slot)++ = array->extents[i];
    return 1;
}

/* Fill the slots of an argument; `word` is its part of the signature. */
static int unpack_argument(const Kernel *kernel, int index, PyObject *argument, const char *word, int64_t **slot) {
    switch (*word) {
    case 'f': {
        double number = PyFloat_AsDouble(argument);
        if (number == -1.0 && PyErr_Occurred()) return 0;
        memcpy((*slot)++, &number, sizeof number);
        return 1;
    }
    case 'i': {
        long long number = PyLong_AsLongLong(argument);
        if (number == -1 && PyErr_Occurred()) return 0;
        *(*slot)++ = number;
        return 1;
    }
    case 'b': {
        int is_numpy_bool = PyObject_IsInstance(argument, numpy_bool_type) == 1;
        long long truth = is_numpy_bool ? PyObject_IsTrue(argument) : PyLong_AsLongLong(argument);
        if (truth == -1 && PyErr_Occurred()) return 0;
        *(*slot)++ = truth != 0;
        return 1;
    }
    default:
        return unpack_array(kernel, index, argument, word, slot);
    }
}

static const char *skip_word(const char *word) {
    while (*word && *word != ' ') word++;
    return *word ? word + 1 : word;
}

/* --- Results ---------------------------------------------------------------------------------------------------- */

static PyObject *pack_number(char kind, int64_t bits) {
    if (kind == 'i') return PyLong_FromLongLong(bits);
    if (kind == 'b') return PyBool_FromLong(bits != 0);
    double number;
    memcpy(&number, &bits, sizeof number);
    return PyFloat_FromDouble(number);
}

static PyObject *pack_results(const char *words, const int64_t *results) {
    size_t length = strlen(words);
    if (!length) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    if (length == 1) return pack_number(*words, results[0]);
    PyObject *tuple = PyTuple_New((Py_ssize_t)(length + 1) / 2); /* "i f": letters with spaces between */
    for (size_t i = 0; tuple && 2 * i < length; i++)
        PyTuple_SetItem(tuple, (Py_ssize_t)i, pack_number(words[2 * i], results[i]));
    return tuple;
}

/* --- Calls ------------------------------------------------------------------------------------------------------ */

static PyObject *call_kernel(PyObject *self, PyObject *const *arguments, Py_ssize_t argument_count) {
    const Kernel *kernel = PyCapsule_GetPointer(self, "poise.kernel");
    if (!kernel) return NULL;
    int64_t slots[MAX_SLOTS], results[MAX_RESULTS], *slot = slots;
    const char *word = kernel->signature;
    for (Py_ssize_t i = 0; i < argument_count; i++, word = skip_word(word)) {
        if (*word == '-') return PyErr_Format(PyExc_TypeError, "%s: too many arguments", kernel->name);
        if (!unpack_argument(kernel, (int)i, arguments[i], word, &slot)) return NULL;
    }
    if (*word != '-') return PyErr_Format(PyExc_TypeError, "%s: too few arguments", kernel->name);
    int32_t status;
    if (kernel->releases_gil) {
        void *thread = PyEval_SaveThread();
        status = kernel->entry(slots, results);
        PyEval_RestoreThread(thread);
    } else {
        status = kernel->entry(slots, results);
    }
    if (status) return PyErr_Format(PyExc_RuntimeError, "%s: status %d", kernel->name, (int)status);
    return pack_results(skip_word(word), results);
}

/* --- Module ----------------------------------------------------------------------------------------------------- */

static PyMethodDef kernel_methods[LEVEL_COUNT][MAX_KERNEL_COUNT];

/* Return the names of the levels of this processor, lowest first. */
static PyObject *list_levels(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyObject *names = PyDict_New(); /* ordered; its keys are the names */
    for (int i = 0; names && i < LEVEL_COUNT; i++)
        if (levels[i].is_supported()) PyDict_SetItemString(names, levels[i].name, &_Py_NoneStruct);
    return names;
}

/* Return the kernels of a level by name. */
static PyObject *list_kernels(PyObject *self, PyObject *arguments) {
    (void)self;
    const char *level_name;
    if (!PyArg_ParseTuple(arguments, "s", &level_name)) return NULL;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const Level *level = &levels[i];
        if (strcmp(level->name, level_name) || !level->is_supported()) continue;
        PyObject *kernels = PyDict_New();
        for (int j = 0; kernels && j < level->kernel_count; j++) {
            PyMethodDef *method = &kernel_methods[i][j];
            *method = (PyMethodDef){ level->kernels[j].name, (PyCFunction)(void (*)(void))call_kernel, METH_FASTCALL,
                                     level->kernels[j].signature };
            PyObject *capsule = PyCapsule_New((void *)&level->kernels[j], "poise.kernel", NULL);
            PyObject *function = capsule ? PyCFunction_NewEx(method, capsule, NULL) : NULL;
            if (!function || PyDict_SetItemString(kernels, method->name, function)) return NULL;
            Py_DecRef(capsule);
            Py_DecRef(function);
        }
        return kernels;
    }
    return PyErr_Format(PyExc_ValueError, "no level %s on this processor", level_name);
}

/* Return the stamps of the sources by kernel. */
static PyObject *list_stamps(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyObject *by_name = PyDict_New();
    for (int i = 0; by_name && i < STAMP_COUNT; i++) {
        PyObject *text = PyUnicode_FromString(stamps[i].stamp);
        if (!text || PyDict_SetItemString(by_name, stamps[i].name, text)) return NULL;
        Py_DecRef(text);
    }
    return by_name;
}

static PyMethodDef module_methods[] = {
    { "list_levels", list_levels, METH_NOARGS, "Levels of this processor, lowest first." },
    { "list_kernels", list_kernels, METH_VARARGS, "Kernels of a level by name." },
    { "list_stamps", list_stamps, METH_NOARGS, "Stamps of the kernels' sources by name." },
    { NULL, NULL, 0, NULL },
};

static PyModuleDef module_definition = { MODULE_DEFINITION_HEAD, "poise_kernels", "Kernels of Poise as machine code.",
                                         -1, module_methods, NULL, NULL, NULL, NULL };

static int add_text(PyObject *module, const char *name, const char *text) {
    PyObject *object = PyUnicode_FromString(text);
    return object && !PyModule_AddObject(module, name, object);
}

MODULE_INIT PyInit_poise_kernels(void) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return NULL;
    array_type = PyObject_GetAttrString(numpy, "ndarray");
    numpy_bool_type = PyObject_GetAttrString(numpy, "bool_");
    float64_dtype = PyObject_CallMethod(numpy, "dtype", "s", "float64");
    int64_dtype = PyObject_CallMethod(numpy, "dtype", "s", "int64");
    bool_dtype = PyObject_CallMethod(numpy, "dtype", "s", "bool");
    Py_DecRef(numpy);
    PyObject *module = PyModule_Create2(&module_definition, STABLE_ABI_VERSION);
    if (!module || !array_type || !numpy_bool_type || !float64_dtype || !int64_dtype || !bool_dtype) return NULL;
    if (!add_text(module, "package_stamp", PACKAGE_STAMP)) return NULL; /* of the sources */
    if (!add_text(module, "tool_stamps", TOOL_STAMPS)) return NULL;     /* of the build's files and packages */
    if (!add_text(module, "object_stamps", OBJECT_STAMPS)) return NULL; /* of the kernels' object files */
    return module;
}
