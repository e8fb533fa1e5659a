// Functions that give back what they allocate, and functions that leave blocks behind: what stops at
// leaking calls are about.
//build: -O0 -pthread
#include <pthread.h>
#include <setjmp.h>
#include <stdexcept>
#include <stdlib.h>
#include <string>

#define NOINLINE __attribute__((noinline))

static void *kept[100];
static int n;
static jmp_buf env;

// request leaves nothing, a block, or two blocks.
NOINLINE static void request(int what)
{
	void *scratch = malloc(1000);
	if (what > 0)
		kept[n++] = malloc(24); // and RAX may still be its address at the end
	if (what > 1)
		kept[n++] = calloc(1, 5000);
	free(scratch);
}

struct node {
	node *next;
	char *name;
};

// make returns a block, which is the caller's, and its member is left.
NOINLINE static node *make(bool named)
{
	node *x = static_cast<node *>(malloc(sizeof *x));
	x->name = named ? static_cast<char *>(malloc(77)) : nullptr;
	return x;
}

// grow leaves what realloc has made of a block from before.
NOINLINE static int grow(size_t size)
{
	kept[0] = realloc(kept[0], size);
	return 0;
}

// deep leaves a block in each of its calls.
NOINLINE static void deep(int levels)
{
	if (levels == 0)
		return;
	deep(levels - 1);
	kept[n++] = malloc(10 * levels);
}

NOINLINE static void jump(bool leave)
{
	void *p = malloc(300);
	if (leave)
		longjmp(env, 1);
	free(p);
}

NOINLINE static void fail(bool leave)
{
	std::string text(500, 'x');
	if (leave)
		kept[n++] = malloc(400);
	throw std::runtime_error("a text that is longer than a short string holds");
}

static void *freer(void *p)
{
	free(p);
	return nullptr;
}

// shared has another thread free its block.
NOINLINE static void shared(void)
{
	pthread_t t;
	pthread_create(&t, nullptr, freer, malloc(600));
	pthread_join(t, nullptr);
}

// quit ends its thread.
NOINLINE static void quit(void)
{
	kept[n++] = malloc(700);
	pthread_exit(nullptr);
}

static void *worker(void *)
{
	request(1);
	quit();
	return nullptr;
}

int main()
{
	pthread_t t;
	pthread_create(&t, nullptr, freer, nullptr); // what the C library has for a thread stays for the next
	pthread_join(t, nullptr);
	request(0);
	request(1);
	request(2);
	make(false);
	make(true);
	grow(100);
	deep(3);
	if (!setjmp(env))
		jump(true);
	jump(false);
	for (bool leave : {false, true})
		try {
			fail(leave);
		} catch (std::exception &) {
		}
	shared();
	pthread_create(&t, nullptr, worker, nullptr);
	pthread_join(t, nullptr);
	return 0;
}
