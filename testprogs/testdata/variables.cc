// Conditions on variables: a recursion, requests of users, a template and inlined calls.
//build: -O0
#include <cstdio>
#include <cstdlib>
#include <optional>

struct User {
	int id;
	const char *name;
};

struct Request {
	User *user;
	size_t length;
};

int total;
thread_local int mine = 1;

static int depth(int n, long size) {
	if (n == 0)
		return 0;
	total += n;
	return 1 + depth(n - 1, size * 2);
}

static char *handle(Request *req, int i) {
	char *p = static_cast<char *>(malloc(req->length + i));
	p[0] = static_cast<char>(req->user->id);
	return p;
}

static int seen(int n) { return n; }

static int seen(double x) { return x > 1; }

int main() {
	User users[3] = {{1, "ann"}, {7, "bob"}, {9, "cy"}};
	int sum = 0;
	for (int i = 0; i < 30; i++) {
		Request r{&users[i % 3], 1000};
		char *p = handle(&r, i);
		sum += p[0];
		free(p);
		mine = i;
	}
	sum += depth(20, 3);
	std::optional<int> owned = seen(sum);
	*owned += seen(1.5);
	printf("%d\n", sum);
}
