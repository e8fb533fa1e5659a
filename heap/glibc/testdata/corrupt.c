// Breaks its heap in the way that the argument names, tells where, and stops.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define is(name) (!strcmp(how, name))

static uint64_t *names[26];
static char line[4096];

static void stop(void)
{
	char *p = line;
	for (int i = 0; i < 26; i++)
		if (names[i])
			p += sprintf(p, "%c %p\n", 'A' + i, (void *)names[i]);
	uint64_t fs;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	sprintf(p, "fs %#lx\n", fs);
	if (write(1, line, strlen(line)) < 0)
		_exit(1);
	raise(SIGSTOP);
	_exit(0);
}

static uint64_t mangle(void *at, void *to) { return (uint64_t)at >> 12 ^ (uint64_t)to; }

static void corrupt(const char *how)
{
	uint64_t *a = malloc(24), *b = malloc(0x108), *c = malloc(24), *d = malloc(0x500), *e = malloc(24), *f = malloc(0x600), *g = malloc(24);
	names[0] = a, names[1] = b, names[2] = c, names[3] = d, names[4] = e, names[5] = f, names[6] = g;
	if (is("whole"))
		stop();
	if (is("size")) {
		memset(a, 'A', 32);
	} else if (is("null byte")) {
		((char *)a)[24] = 0;
	} else if (is("fd")) {
		free(d);
		d[0] = 0x4141414141414141;
	} else if (is("bk")) {
		free(d), free(f);
		d[1] = 0x4242424242424242;
	} else if (is("list")) { // fd leads to a chunk that does not lead back
		free(d), free(f);
		f[0] = (uint64_t)(f - 2);
	} else if (is("prev_size")) {
		free(d);
		e[-2] = 0x1230;
	} else if (is("unlinked")) { // a flag was cleared, and the foot is right by chance
		d[0x500 / 8] = 0x510;
		e[-1] &= ~1;
	} else if (is("tcache next")) {
		free(a), free(c);
		c[0] = 0x4343434343434343;
	} else if (is("tcache loop")) {
		free(a), free(c);
		a[0] = mangle(a, c);
	} else if (is("tcache key")) {
		free(a), free(c), free(g);
		c[1] = 0x4545454545454545;
	} else if (is("tcache used")) { // a block in use is in a list
		free(a), free(c);
		c[0] = mangle(c, d);
	} else if (is("tcache count")) {
		free(a), free(c);
		uint16_t *counts = (uint16_t *)(((uint64_t)a & ~0xfffull) + 0x10); // the first block of the heap
		counts[0] = 9;
		names[19] = (uint64_t *)counts;
	} else if (is("fastbin")) {
		uint64_t *all[9];
		for (int i = 0; i < 9; i++)
			all[i] = malloc(40);
		malloc(24);
		for (int i = 0; i < 9; i++)
			free(all[i]);
		all[8][0] = mangle(all[8], all[8] - 2);
		names[8] = all[8];
	} else if (is("top")) {
		uint64_t *last = malloc(24);
		memset(last, 0xff, 32);
		names[19] = last + 4;
	} else if (is("arena flag")) {
		d[-1] |= 4;
	}
	stop();
}

static void *thread(void *how)
{
	corrupt(how);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		corrupt(argv[1]);
	} else { // in an arena of its own
		free(malloc(1));
		pthread_t t;
		pthread_create(&t, 0, thread, argv[1]);
		pthread_join(t, 0);
	}
	return 0;
}
