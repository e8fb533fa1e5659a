// A server of eight rounds: each loses a block of lose_answer, keeps one of keep_client in a list, and allocates and frees others.
// In the first round keep_table is filled, and never grows again; keep_buffer grows in a block that is one at a time. Behind each second
// round is round_done.
//build: -O1 -g -fno-inline
#include <stdlib.h>
#include <string.h>

struct client {
	struct client *next;
	char name[56];
};

struct client *clients;
char *table, *buffer;

static void keep_table(void) { table = malloc(50000); }
static void keep_buffer(int round) { buffer = realloc(buffer, 1000 * (round + 1)); }

static void keep_client(void)
{
	struct client *c = calloc(1, sizeof *c);
	c->next = clients;
	clients = c;
}

static void lose_answer(int round)
{
	char *answer = malloc(300 + round);
	asm volatile("" : : "r"(answer) : "memory");
}

static void swings(int round) // has as much in the second and third half of rounds
{
	static char *held;
	free(held);
	held = malloc(round % 4 == 1 ? 700 : 20);
}

// forget leaves nothing of the blocks in the stack and in registers.
static void forget(void)
{
	char room[512];
	memset(room, 0, sizeof room);
	asm volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t"
		     "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d"
		     : : "r"(room) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

void round_done(void)
{
	asm volatile("");
}

int main(void)
{
	keep_table();
	for (int round = 0; round < 8; round++) {
		lose_answer(round);
		keep_client();
		keep_buffer(round);
		swings(round);
		forget();
		if (round % 2 == 1)
			round_done();
	}
}
