//build: -O1 -fno-builtin
// COUNT coroutines, sixteen at a time, on stacks that are mapped and unmapped
// or allocated and freed; they allocate, change to one another, and free.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { AT_ONCE = 16, STACK = 32768 };

static ucontext_t back, each[AT_ONCE];
static long mallocs, frees, maps, unmaps, wrong;
static int alive;

__attribute__((noinline)) static void turn(int slot, int i)
{
	char *p = malloc(100 + slot), *q = malloc(300);
	mallocs += 2;
	memset(p, slot, 100 + slot);
	memset(q, i, 300);
	swapcontext(&each[slot], &back);
	wrong += p[99 + slot] != slot || q[299] != i;
	free(q);
	free(p);
	frees += 2;
}

static void body(int slot)
{
	for (int i = 0; i < 5; i++)
		turn(slot, i);
	alive--;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 32;
	for (int n = 0; n < count; n += AT_ONCE) {
		char *stack[AT_ONCE];
		for (int i = 0; i < AT_ONCE; i++) {
			if (i % 2) {
				stack[i] = malloc(STACK);
				mallocs++;
			} else {
				stack[i] = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
				maps++;
			}
			getcontext(&each[i]);
			each[i].uc_stack.ss_sp = stack[i];
			each[i].uc_stack.ss_size = STACK;
			each[i].uc_link = &back;
			makecontext(&each[i], (void (*)(void))body, 1, i);
		}
		alive = AT_ONCE;
		for (int turns = 0; alive > 0; turns++)
			for (int i = 0; i < AT_ONCE; i++)
				if (turns < 6)
					swapcontext(&back, &each[i]);
		for (int i = 0; i < AT_ONCE; i++) {
			if (i % 2) {
				free(stack[i]);
				frees++;
			} else {
				munmap(stack[i], STACK);
				unmaps++;
			}
		}
	}
	printf("wrong %ld\n", wrong);
	printf("calls malloc %ld free %ld mmap %ld munmap %ld\n", mallocs, frees, maps, unmaps);
	return wrong != 0;
}
