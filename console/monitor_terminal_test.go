package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// monitored is a program whose heap is known. It waits for files in the folder that
// it is given: next, then end.
const monitored = `
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[1000];
static int n, helped;

static void await(const char *dir, const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	while (access(path, F_OK) != 0)
		usleep(10000);
}

static void tell(const char *dir, const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	fclose(f);
}

__attribute__((noinline)) static void keep_small(void)
{
	for (int i = 0; i < 100; i++)
		kept[n++] = malloc(1000);
}

__attribute__((noinline)) static void keep_large(void)
{
	for (int i = 0; i < 10; i++)
		kept[n++] = malloc(5000);
	keep_small();
}

__attribute__((noinline)) static void churn(void)
{
	for (int i = 0; i < 500; i++)
		free(memset(malloc(64), 1, 64));
}

__attribute__((noinline)) static void later(void)
{
	for (int i = 0; i < 3; i++)
		kept[n++] = malloc(1 << 20);
}

static void *helper(void *dir)
{
	for (int i = 0; i < 7; i++)
		kept[500 + i] = malloc(3000);
	__atomic_store_n(&helped, 1, __ATOMIC_RELEASE);
	await(dir, "end");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	printf("hello from the program\n");
	fflush(stdout);
	pthread_create(&t, NULL, helper, argv[1]);
	pthread_setname_np(t, "helper");
	keep_large();
	// What another thread allocates between a malloc and its free makes that
	// block one that is not temporary.
	while (!__atomic_load_n(&helped, __ATOMIC_ACQUIRE))
		usleep(1000);
	churn();
	await(argv[1], "next");
	later();
	tell(argv[1], "did");
	await(argv[1], "end");
	if (access(argc > 2 ? argv[2] : "", F_OK) == 0)
		raise(SIGSEGV);
	pthread_join(t, NULL);
	return 3;
}
`

// buildMonitored is that program, and a folder of its own.
func buildMonitored(t *testing.T) (prog, dir string) {
	t.Helper()
	dir = t.TempDir()
	prog = filepath.Join(dir, "watched")
	cmd := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-pthread", "-x", "c", "-o", prog, "-")
	cmd.Stdin = strings.NewReader("#define _GNU_SOURCE\n#line 1 \"watched.c\"\n" + monitored)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return prog, dir
}

// touch makes a file that the program waits for.
func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// appears waits for a file of the program's.
func appears(t *testing.T, dir, name string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return
		}
	}
	t.Fatalf("%s does not appear", name)
}

// watch runs hdb live in the terminal.
func (g *glass) watch(args ...string) {
	g.t.Helper()
	g.say(testprogs.HDB(g.t) + " live -nx " + strings.Join(args, " "))
}

// shows waits for texts in the live view, in their order; between the words are single
// blanks.
func (g *glass) shows(rows ...string) []string {
	g.t.Helper()
	return g.until(fmt.Sprintf("rows %q", rows), func(screen []string) bool {
		text := strings.Join(strings.Fields(strings.Join(screen, "\n")), " ")
		for _, row := range rows {
			_, rest, ok := strings.Cut(text, row)
			if !ok {
				return false
			}
			text = rest
		}
		return strings.HasPrefix(screen[len(screen)-1], "q quit")
	})
}

func TestMonitorShowsAProgram(t *testing.T) {
	t.Parallel()
	prog, dir := buildMonitored(t)
	g := newGlass(t, 24, 110)
	g.watch("--output", filepath.Join(dir, "out"), prog, dir)
	rows := g.shows("running "+prog, "live, by own", "97.7 KiB", "100 keep_small", "48.8 KiB", "10 keep_large", "20.5 KiB", "7 helper", "0 B 0.0 1", "main")
	if text := strings.Join(rows, "\n"); strings.Contains(text, "hello") || !strings.Contains(text, "peak ") || !strings.Contains(text, "RSS ") {
		t.Errorf("the screen is\n%s", text)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "out")); string(b) != "hello from the program\n" {
		t.Errorf("the program printed %q, %v", b, err)
	}
	g.press("s")
	g.shows("live, by total", "main", "keep_large", "keep_small")
	g.press("4")
	g.shows("temporary, by total", "500 100.0 500 100.0", "500 churn")
	g.press("s", "s", "s", "s", "1")
	g.shows("live, by own", "97.7 KiB")
	g.write("/keep")
	g.until("a filter", func(rows []string) bool {
		return strings.HasPrefix(rows[len(rows)-1], "filter: keep_") && strings.Contains(rows[4], `2 rows`)
	})
	g.press("Enter")
	g.shows(`2 rows live, by own, with "keep"`, "keep_small", "keep_large")
	g.press("Escape")
	g.until("all rows", func(rows []string) bool { return !strings.Contains(rows[4], "with") })
	// Into keep_small: its line, what called it there, and that one's caller.
	g.press("Enter")
	g.shows("lines of keep_small 1 row", "97.7 KiB 100.0 97.7 KiB", "100 keep_small watched.c:31")
	g.press("Enter")
	g.shows("callers of keep_small:31", "100 keep_large watched.c:38")
	g.press("Enter")
	g.shows("callers of keep_large:38", "100 main watched.c:69")
	g.press("BSpace", "BSpace", "Down")
	g.shows("lines of keep_small")
	g.press("BSpace", "Down", "Enter")
	g.shows("lines of keep_large 2 rows", "10 keep_large watched.c:37", "0 keep_large watched.c:38")
	g.press("Escape")
	g.shows("rows live, by own", "100 keep_small", "10 keep_large", "main")
	g.press("M")
	g.write("libc")
	g.until("a filter of modules", func(rows []string) bool {
		return strings.HasPrefix(rows[len(rows)-1], "module: libc_") && !strings.Contains(strings.Join(rows[6:], " "), "keep_")
	})
	g.press("Escape", "f")
	g.write("small")
	g.press("Enter")
	g.shows(`function "small"`, "keep_small")
	g.press("Escape", "?")
	g.until("the keys", func(rows []string) bool { return strings.Contains(words(rows), "t rows for each thread") })
	g.press("x")
	g.press("t")
	g.shows("per thread", "97.7 KiB", "keep_small", "20.5 KiB", "2 helper helper")
	g.press("t")
	g.until("no threads", func(rows []string) bool { return !strings.Contains(rows[4], "per thread") })
	g.press("Space")
	g.shows("PAUSED", "97.7 KiB")
	touch(t, dir, "next")
	appears(t, dir, "did")
	g.press("C-l")
	if text := strings.Join(g.shows("PAUSED", "97.7 KiB"), "\n"); strings.Contains(text, "later") {
		t.Errorf("the pause is none\n%s", text)
	}
	g.press("Space")
	g.shows("running", "3.0 MiB", "3 later", "100 keep_small")
	touch(t, dir, "end")
	g.shows("exited with code 3", "3.0 MiB", "3 later")
	g.press("2", "/")
	g.write("later")
	g.press("Enter")
	g.shows(`with "later"`, "3.0 MiB", "later")
	g.press("Enter") // the program has ended
	g.shows("lines of later 1 row", "3.0 MiB", "later watched.c:50")
	g.press("BSpace")
	g.shows("bytes, by own", "later")
	g.press("q")
	g.see(prog[strings.LastIndexByte(prog, '/')+1:]+": ", " live ", "exited with code 3", "\n$")
	g.say("echo code $?; stty -a")
	g.see("\ncode 0\n", " icanon", " echo ")
}

// TestMonitorChanges counts changes from one moment, the press of d, in the tables of functions and of threads.
func TestMonitorChanges(t *testing.T) {
	t.Parallel()
	prog, dir := buildMonitored(t)
	g := newGlass(t, 24, 110)
	g.watch("--output", filepath.Join(dir, "out"), prog, dir)
	g.shows("running "+prog, "100 keep_small", "7 helper")
	g.press("d")
	touch(t, dir, "next")
	appears(t, dir, "did")
	changed := func(table string, rows ...string) {
		t.Helper()
		g.until("changes of "+table, func(seen []string) bool {
			all := true
			for _, row := range rows {
				all = all && slices.ContainsFunc(seen, func(s string) bool { return regexp.MustCompile(row).MatchString(words([]string{s})) })
			}
			return all && strings.Contains(seen[4], "per thread") == (table == "threads")
		})
	}
	later, small := `^3\.0 MiB \S+ 3\.0 MiB \S+ \+3\.0 MiB `, `^97\.7 KiB \S+ 97\.7 KiB \S+ \+0 B `
	changed("functions", later+".* later", small+".* keep_small")
	g.press("t")
	changed("threads", later+".* 1 .* later", small+".* 1 .* keep_small")
	g.press("t")
	changed("functions", later+".* later", small+".* keep_small")
	g.press("t", "d")
	changed("threads", `^3\.0 MiB \S+ 3\.0 MiB \S+ \+0 B .* 1 .* later`)
	g.press("t")
	changed("functions", `^3\.0 MiB \S+ 3\.0 MiB \S+ \+0 B .* later`)
	touch(t, dir, "end")
	g.shows("exited with code 3")
	g.press("q")
}

// However the terminal's size changes, the picture fits it.
func TestMonitorResizes(t *testing.T) {
	t.Parallel()
	prog, dir := buildMonitored(t)
	g := newGlass(t, 24, 110)
	g.watch(prog, dir)
	g.shows("100 keep_small")
	for _, size := range [][2]int{{12, 60}, {40, 150}, {10, 50}, {10, 40}, {24, 80}} {
		g.resize(size[0], size[1])
		g.until(fmt.Sprint(size), func(rows []string) bool {
			return len(rows) == size[0] && strings.HasPrefix(rows[size[0]-1], "q quit") && strings.Contains(rows[6], "keep_sm") && strings.HasPrefix(rows[0], "pid ")
		})
	}
	for _, size := range [][2]int{{9, 80}, {24, 39}, {2, 10}} {
		g.resize(size[0], size[1])
		g.until(fmt.Sprint(size), func(rows []string) bool {
			return len(rows) == size[0] && strings.HasPrefix("the terminal is too small", rows[0][:min(10, len(rows[0]))]) && len(rows[0]) >= 10 && strings.Join(rows[1:], "") == ""
		})
	}
	g.resize(24, 80)
	g.shows("100 keep_small")
	g.press("C-c")
	g.see("watched: ", ": killed\n$")
}

func TestMonitorTinyTerminal(t *testing.T) {
	t.Parallel()
	prog, dir := buildMonitored(t)
	for _, size := range [][2]int{{9, 100}, {24, 39}} {
		g := newGlass(t, size[0], size[1])
		g.say("clear; " + testprogs.HDB(t) + " live -nx " + prog + " " + dir + "; echo code''=$?")
		g.until("a refusal", func(rows []string) bool {
			text := words(rows)
			return strings.Contains(text, "error: live: the terminal is too small for a live view: ") && strings.Contains(text, " are needed code=2 $")
		})
	}
}

// The terminal is the shell's again, whatever happens.
func TestMonitorEnds(t *testing.T) {
	t.Parallel()
	prog, dir := buildMonitored(t)
	for name, end := range map[string]string{"killed": "-KILL", "terminated": "-TERM", "hung up": "-HUP", "interrupted": "-INT"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, 24, 80)
			g.say("echo 'be''fore'")
			g.see("\nbefore\n$")
			g.watch(prog, dir)
			g.shows("100 keep_small")
			// hdb is the only child of the shell.
			shell := strings.TrimSpace(g.tell("display-message", "-p", "#{pane_pid}"))
			if out, err := exec.Command("pkill", end, "-P", shell, "hdb").CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			g.see("\nbefore\n")
			restored(g)
		})
	}
	t.Run("suspended", func(t *testing.T) {
		t.Parallel()
		g := newGlass(t, 24, 80)
		g.watch(prog, dir)
		g.shows("100 keep_small")
		g.press("C-z")
		g.until("the shell", func(rows []string) bool {
			text := strings.Join(rows, "\n")
			return strings.Contains(text, "Stopped") && !strings.Contains(text, "keep_small")
		})
		g.say("echo sh''ell; stty -a")
		g.see("\nshell\n", " icanon")
		g.say("fg")
		g.shows("100 keep_small")
		g.press("2") // keys are keys again
		g.shows("bytes, by own")
		g.press("q")
		g.see(": killed\n$")
		restored(g)
	})
	t.Run("by a signal of the program's", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		g := newGlass(t, 24, 110)
		g.watch("--output="+filepath.Join(dir, "out"), prog, dir, "/")
		g.shows("100 keep_small")
		touch(t, dir, "next")
		touch(t, dir, "end")
		g.shows("SIGSEGV", "3 later")
		g.press("q")
		g.see("SIGSEGV", "\n$")
		g.say("echo code $?")
		g.see("\ncode 5\n")
	})
}

// A process that was there before goes on, unharmed.
func TestMonitorAttaches(t *testing.T) {
	t.Parallel()
	worker := exec.Command(testprogs.Build(t, "worker"), "3")
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = worker.Process.Kill() }()
	said := bufferUntil(t, out, "ready")
	g := newGlass(t, 24, 110)
	g.watch("-p", fmt.Sprint(worker.Process.Pid))
	g.press("2")
	g.shows(fmt.Sprintf("pid %d", worker.Process.Pid), "round_of_work")
	g.press("q")
	g.see("goes on", "\n$")
	in.Close()
	rest, err := io.ReadAll(out)
	if err != nil || worker.Wait() != nil || !strings.Contains(said+string(rest), "right some wrong 0") {
		t.Errorf("the process printed %q, %v", said+string(rest), err)
	}
}

// bufferUntil reads up to a line that begins with a word.
func bufferUntil(t *testing.T, r io.Reader, word string) string {
	t.Helper()
	var b bytes.Buffer
	for one := make([]byte, 1); !strings.Contains(b.String(), word) || !strings.HasSuffix(b.String(), "\n"); b.Write(one) {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatalf("%q, %v", b.String(), err)
		}
	}
	return b.String()
}

// In the console the view is a command, and the split screen comes back after it.
func TestMonitorInTheConsole(t *testing.T) {
	t.Parallel()
	prog, dir := buildMonitored(t)
	g := newGlass(t, 30, 110)
	g.start("--args", prog, dir)
	g.hdb("set print frame-arguments none") // so that the stop fits the lower part
	g.hdb("start")
	g.say("monitor")
	g.see("error: monitor: the program writes to this terminal: ")
	g.hdb("set confirm off")
	g.hdb("start " + dir + " > /dev/null 2>&1")
	g.say("monitor")
	g.shows("running", "97.7 KiB", "100 keep_small")
	g.press("q")
	rows := g.seeSplit("recording from here on", "interrupted", "\n(hdb)")
	bar(t, rows) // the split screen is back
	g.hdb("break later")
	touch(t, dir, "next")
	g.say("monitor") // goes on, and stops there
	rows = g.seeSplit("breakpoint 1, hit 1", "\n(hdb)")
	if _, at := bar(t, rows); at != sourceRows(30) {
		t.Errorf("the bar is in row %d", at)
	}
	g.say("tui disable")
	g.see("(hdb) tui enable", "\n(hdb)")
	touch(t, dir, "end")
	g.say("monitor")
	g.see("exited with code 3", "\n(hdb)")
	g.hdb("top 3")
	g.see("keep_small")
	g.hdb("echo alive")
}
