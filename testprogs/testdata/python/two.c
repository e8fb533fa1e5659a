// Two interpreters of different files in one process: the second one runs inside the first,
// and a thread of the second beside. LIBPYTHON HOME of each follow.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct python {
	void (*start)(int);
	int (*run)(const char *);
	int (*pending)(int (*)(void *), void *);
	void *(*save)(void);
	void (*restore)(void *);
	int (*ensure)(void);
	void (*release)(int);
};

static struct python load(const char *lib, const char *home)
{
	void *h = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	struct python p;
	p.start = (void (*)(int))dlsym(h, "Py_InitializeEx");
	p.run = (int (*)(const char *))dlsym(h, "PyRun_SimpleString");
	p.pending = (int (*)(int (*)(void *), void *))dlsym(h, "Py_AddPendingCall");
	p.save = (void *(*)(void))dlsym(h, "PyEval_SaveThread");
	p.restore = (void (*)(void *))dlsym(h, "PyEval_RestoreThread");
	p.ensure = (int (*)(void))dlsym(h, "PyGILState_Ensure");
	p.release = (void (*)(int))dlsym(h, "PyGILState_Release");
	setenv("PYTHONHOME", home, 1);
	p.start(0);
	return p;
}

static struct python first, second;
static void *saved;

static int inside(void *unused)
{
	(void)unused;
	static int once;
	if (once++)
		return 0;
	second.restore(saved);
	second.run("import os\ndef leaf(n):\n  if n: return leaf(n - 1)\n  os.kill(os.getpid(), 10)\nleaf(2)\n");
	saved = second.save();
	return 0;
}

static void *beside(void *unused)
{
	(void)unused;
	int state = second.ensure();
	second.run("import time\ndef waits():\n  time.sleep(100)\nwaits()\n");
	second.release(state);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	signal(SIGUSR1, SIG_IGN);
	second = load(argv[3], argv[4]);
	saved = second.save();
	first = load(argv[1], argv[2]);
	pthread_t t;
	pthread_create(&t, NULL, beside, NULL);
	usleep(300000);
	first.pending(inside, NULL);
	first.run("def outer(n):\n  if n: return outer(n - 1)\n  for i in range(10000): pass\nouter(2)\n");
	fflush(stdout);
	_exit(0);
}
