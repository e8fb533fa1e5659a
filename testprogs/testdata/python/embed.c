// A program that embeds CPython as application servers do: it imports an application, forks
// workers, and has threads of each serve requests in interpreters of their own.
//
//	embed FOLDER WORKERS THREADS REQUESTS main|own [FILE]
//
// With main, threads use the main interpreter. The functions of the application are those of
// embedded.py. Each worker prints its process ID, waits until there is the file, if any, has its
// threads do so many requests each, calls finished, and waits for a signal.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder, *go;
static int requests, in_main;
static PyInterpreterState *main_interpreter;
static pthread_barrier_t done;

static PyObject *application(void)
{
	PyObject *path = PySys_GetObject("path"), *dir = PyUnicode_FromString(folder);
	PyList_Insert(path, 0, dir);
	Py_DECREF(dir);
	PyObject *module = PyImport_ImportModule("embedded");
	if (!module) {
		PyErr_Print();
		exit(1);
	}
	return module;
}

// A block of the server's own, in whose frames there is nothing of Python.
__attribute__((noinline)) char *server_buffer(int n) { return malloc(5000 + n); }

__attribute__((noinline)) void serve(PyObject *module, int n)
{
	PyObject *result = PyObject_CallMethod(module, "application", "i", n);
	if (!result)
		PyErr_Print();
	Py_XDECREF(result);
}

static void *worker_thread(void *arg)
{
	(void)arg;
	PyThreadState *first = PyThreadState_New(main_interpreter), *own = first;
	PyEval_RestoreThread(first);
	if (!in_main)
		own = Py_NewInterpreter();
	PyObject *module = application();
	PyEval_SaveThread();
	while (go && access(go, F_OK) != 0)
		usleep(1000);
	static char *kept[64];
	for (int i = 0; i < requests; i++) {
		kept[i % 64] = server_buffer(i);
		PyEval_RestoreThread(own);
		serve(module, i);
		PyEval_SaveThread();
	}
	pthread_barrier_wait(&done);
	PyEval_RestoreThread(own);
	PyObject *result = PyObject_CallMethod(module, "wait", NULL); // until the process ends
	Py_XDECREF(result);
	return NULL;
}

// Called when all requests are done.
__attribute__((noinline)) void finished(void) { __asm__ volatile(""); }

static void work(int threads)
{
	pthread_t thread;
	printf("%d works\n", (int)getpid());
	fflush(stdout);
	pthread_barrier_init(&done, NULL, threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, worker_thread, NULL);
	pthread_barrier_wait(&done);
	usleep(100000);
	finished();
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	folder = argv[1];
	int workers = atoi(argv[2]), threads = atoi(argv[3]);
	requests = atoi(argv[4]);
	in_main = strcmp(argv[5], "main") == 0;
	go = argc > 6 ? argv[6] : NULL;
	Py_InitializeEx(0);
	main_interpreter = PyThreadState_Get()->interp;
	PyObject *module = application();
	PyObject *result = PyObject_CallMethod(module, "preload", NULL);
	if (!result)
		PyErr_Print();
	Py_XDECREF(result);
	for (int i = 0; i < workers; i++) {
		PyOS_BeforeFork();
		pid_t child = fork();
		if (child == 0) {
			PyOS_AfterFork_Child();
			PyEval_SaveThread();
			work(threads);
		}
		PyOS_AfterFork_Parent();
	}
	PyEval_SaveThread();
	if (workers == 0)
		work(threads);
	while (wait(NULL) > 0)
		;
	return 0;
}
