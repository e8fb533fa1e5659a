// Loops, switches and inlined helpers at -O2, to step through.
//build: -O2 -g
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	int kind, cost;
	struct job *next;
	char name[16];
};

struct queue {
	struct job *head, **tail;
	int length;
	long done;
};

static inline void push(struct queue *q, struct job *j)
{
	j->next = NULL;
	*q->tail = j;
	q->tail = &j->next;
	q->length++;
}

static inline struct job *pop(struct queue *q)
{
	struct job *j = q->head;
	if (!j)
		return NULL;
	q->head = j->next;
	if (!q->head)
		q->tail = &q->head;
	q->length--;
	return j;
}

static inline int weight(const struct job *j)
{
	switch (j->kind) {
	case 0:
		return j->cost;
	case 1:
		return j->cost * 2 + 1;
	default:
		return (int)strlen(j->name);
	}
}

__attribute__((noinline)) struct job *make(int kind, int cost)
{
	struct job *j = malloc(sizeof *j);
	if (!j)
		abort();
	j->kind = kind;
	j->cost = cost;
	snprintf(j->name, sizeof j->name, "job%d", cost);
	return j;
}

__attribute__((noinline)) int run(struct queue *q, int limit)
{
	int spent = 0;
	struct job *j;
	while (spent < limit && (j = pop(q))) {
		int w = weight(j);
		spent += w;
		if (w & 1)
			q->done += w;
		else
			q->done -= 1;
		free(j);
	}
	return spent;
}

__attribute__((noinline)) int fill(struct queue *q, int n)
{
	for (int i = 0; i < n; i++) {
		struct job *j = make(i % 3, i);
		push(q, j);
	}
	return q->length;
}

int main(void)
{
	struct queue q = {.tail = &q.head};
	int n = fill(&q, 7);
	int spent = run(&q, 12);
	spent += run(&q, 100);
	printf("%d %d %ld\n", n, spent, q.done);
	return 0;
}
