// Shows what it was started with: arguments, a variable of the
// environment, the working directory, standard input; and one line on
// standard error.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char dir[4096], *line = NULL;
	size_t room = 0;
	for (int i = 1; i < argc; i++)
		printf("argument %d: %s\n", i, argv[i]);
	const char *v = getenv("HDB_TEST");
	printf("HDB_TEST=%s\n", v ? v : "(unset)");
	printf("in %s\n", getcwd(dir, sizeof dir) ? dir : "?");
	while (getline(&line, &room, stdin) > 0)
		printf("line: %s", line);
	free(line);
	fprintf(stderr, "to standard error\n");
	return 0;
}
