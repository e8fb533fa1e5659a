// Coroutines of ucontext: a stack that ends where it was made.
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t back, co;

__attribute__((noinline)) void stop_here(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) static void work(int n)
{
	stop_here();
	swapcontext(&co, &back);
}

int main(int argc, char **argv)
{
	getcontext(&co);
	co.uc_stack.ss_sp = malloc(1 << 16);
	co.uc_stack.ss_size = 1 << 16;
	co.uc_link = &back;
	makecontext(&co, (void (*)(void))work, 1, 3);
	swapcontext(&back, &co);
	stop_here();
	return 0;
}
