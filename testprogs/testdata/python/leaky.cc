// An extension that keeps what grow() is asked for, by an inlined function.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstdlib>

namespace {

struct Buffer {
	Buffer *next;
	char *data;
};

Buffer *kept;

inline __attribute__((always_inline)) char *fill(size_t n)
{
	char *data = static_cast<char *>(std::malloc(n)); // line: fill
	if (data)
		data[0] = 1;
	return data;
}

PyObject *grow(PyObject *, PyObject *size)
{
	auto *b = new Buffer;
	b->data = fill(PyLong_AsSize_t(size));
	b->next = kept;
	kept = b;
	Py_RETURN_NONE;
}

// call_back calls a function of Python, so that native frames are between two of Python.
PyObject *call_back(PyObject *, PyObject *function)
{
	return PyObject_CallObject(function, nullptr);
}

PyMethodDef methods[] = {
	{ "grow", grow, METH_O, nullptr },
	{ "call_back", call_back, METH_O, nullptr },
	{ nullptr, nullptr, 0, nullptr },
};

PyModuleDef module = { PyModuleDef_HEAD_INIT, "leaky", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr };

} // namespace

PyMODINIT_FUNC PyInit_leaky()
{
	return PyModule_Create(&module);
}
