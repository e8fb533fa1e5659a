// Pointers behind the starts of blocks: those that users hold behind a header, and stale ones. The functions that begin with
// keep make blocks that are held; with maybe, lost ones to which a word points by chance; with hidden, lost ones that
// nothing tells from held ones.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MANY 4000

char *words[MANY]; // that point behind starts
static int used;

static void point(void *at) { words[used++] = at; }

static uint32_t state = 1;
static uint32_t chance(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

// A string as Redis has it: users have a pointer behind the header.
static NOINLINE char *string_new(size_t n) { return (char *)calloc(1, 16 + n) + 16; }

static NOINLINE void keep_strings(void)
{
	for (int i = 0; i < 500; i++)
		point(string_new(20 + i));
}

// One in twenty of the same code is held by its start, and the same number by another header.
static NOINLINE void keep_mixed(void)
{
	for (int i = 0; i < 100; i++) {
		char *p = malloc(96);
		memset(p, 0, 96);
		point(i % 20 == 3 ? p : p + 32);
	}
}

// As objects of a collector: each leads to the next behind its header, the program to the first.
static NOINLINE void keep_chain(void)
{
	char *next = NULL;
	for (int i = 0; i < 200; i++) {
		char **p = calloc(1, 64);
		p[3] = next;
		next = (char *)p + 16;
	}
	point(next);
}

// What the blocks behind a header lead to.
static NOINLINE void *keep_below(void) { return malloc(24); }
static NOINLINE void keep_owners(void)
{
	for (int i = 0; i < 20; i++) {
		void **p = calloc(1, 48);
		p[4] = keep_below();
		point(p + 1);
	}
}

// A pool: what it has handed out lies at many offsets.
static NOINLINE void keep_pool(void)
{
	char *pool = malloc(3000);
	memset(pool, 0, 3000);
	for (int i = 1; i <= 8; i++)
		point(pool + 100 * i);
}

static NOINLINE void maybe_seven_offsets(void)
{
	char *block = malloc(3100);
	memset(block, 0, 3100);
	for (int i = 1; i <= 7; i++)
		point(block + 104 * i);
}

static NOINLINE void maybe_anywhere(void)
{
	for (int i = 0; i < 300; i++) {
		char *p = malloc(400);
		memset(p, 0, 400);
		point(p + 1 + chance(399));
	}
}

// Of the code whose blocks are held behind +16.
static NOINLINE void maybe_beside_strings(void)
{
	for (int i = 0; i < 40; i++)
		point(string_new(300) + 1 + chance(290));
}

static NOINLINE void maybe_last_byte(void)
{
	for (int i = 0; i < 300; i++) {
		char *p = malloc(50 + i);
		memset(p, 0, 50 + i);
		point(p + 49 + i);
	}
}

static NOINLINE void maybe_iterators(void)
{
	for (int i = 0; i < 200; i++) {
		char *p = malloc(500);
		memset(p, 0, 500);
		point(p + 8 + 24 * chance(7));
	}
}

// A list that is lost, linked behind headers: one stale word leads somewhere into its first block.
static NOINLINE void maybe_list(void)
{
	char *next = NULL;
	for (int i = 0; i < 200; i++) {
		char **p = calloc(1, 72);
		p[3] = next;
		next = (char *)p + 16;
	}
	point(next + 8);
}

static NOINLINE void maybe_three(void)
{
	for (int i = 0; i < 3; i++) {
		char *p = malloc(600);
		memset(p, 0, 600);
		point(p + 8);
	}
}

// A cursor that always stops at the same place, and nothing else.
static NOINLINE void hidden_cursors(void)
{
	for (int i = 0; i < 60; i++) {
		char *p = malloc(700);
		memset(p, 0, 700);
		point(p + 8);
	}
}

static NOINLINE void lose_strings(void)
{
	for (int i = 0; i < 30; i++)
		string_new(800);
}

static NOINLINE void wipe(void)
{
	volatile char room[4096];
	memset((char *)room, 0, sizeof room);
}

NOINLINE void at_rest(void) { __asm__ volatile("" ::: "memory"); }

int main(void)
{
	keep_strings();
	keep_mixed();
	keep_chain();
	keep_owners();
	keep_pool();
	maybe_seven_offsets();
	maybe_anywhere();
	maybe_beside_strings();
	maybe_last_byte();
	maybe_iterators();
	maybe_list();
	maybe_three();
	hidden_cursors();
	lose_strings();
	malloc(8);
	wipe();
	at_rest();
	return used;
}
