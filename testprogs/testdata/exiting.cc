// A program that exits in the way that its argument says: it returns from main, or calls exit from another thread, or _exit, aborts, is killed
// or makes the system call. Up to there it has lost two blocks; one is freed by a destructor, one by what atexit is given. It handles SIGUSR1.
//build: -O1 -g -fno-inline -pthread
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

struct Holder {
	char *block;
	Holder() { block = static_cast<char *>(malloc(1000)); }
	~Holder() { free(block); }
};

static Holder holder;
static void *registered;

static void at_exit() { free(registered); }

static void lose(int n)
{
	void *block = malloc(300 + n);
	asm volatile("" : : "r"(block) : "memory");
}

static void handle(int) {}

static void *exits(void *) { exit(4); }

// forget leaves nothing of the blocks in the stack below main and in registers.
static void forget()
{
	char room[512];
	memset(room, 0, sizeof room);
	asm volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t"
		     "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d"
		     : : "r"(room) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	registered = malloc(500);
	atexit(at_exit);
	lose(0);
	lose(1);
	forget();
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	if (!strcmp(how, "thread")) {
		pthread_t t;
		pthread_create(&t, nullptr, exits, nullptr);
		pthread_join(t, nullptr);
	}
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "call"))
		syscall(SYS_exit_group, 6);
	return 3;
}
