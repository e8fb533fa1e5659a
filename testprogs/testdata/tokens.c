//build: PYTHON
// An extension of CPython: tokens.split(text) returns the words of a text as a list.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

static PyObject *split(PyObject *module, PyObject *text)
{
	const char *at = PyUnicode_AsUTF8(text);
	PyObject *words = at ? PyList_New(0) : NULL;
	while (words && *at) {
		size_t n = strcspn(at, " ");
		PyObject *word = PyUnicode_FromStringAndSize(at, n);
		if (!word || PyList_Append(words, word) < 0)
			Py_CLEAR(words);
#ifdef FIXED
		Py_XDECREF(word); // the list has a reference of its own
#endif
		at += n + (at[n] == ' ');
	}
	return words;
}

static PyMethodDef methods[] = {
	{"split", split, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tokens", NULL, -1, methods};

PyMODINIT_FUNC PyInit_tokens(void) { return PyModule_Create(&module); }
