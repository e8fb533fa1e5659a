package testprogs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unwalked has a list of which 100 elements are older than middle, and 50 are younger and held by these alone. 20 blocks are
// lost then: only blocks that are freed have pointers to them.
const unwalked = `
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char pad[200]; } *head;
__attribute__((noinline)) struct node *older(void) { return calloc(1, sizeof(struct node)); }
__attribute__((noinline)) struct node *younger(void) { return calloc(1, sizeof(struct node)); }
__attribute__((noinline)) void *lose(void) { return malloc(3333); }
__attribute__((noinline)) void middle(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void end(void) { __asm__ volatile("" ::: "memory"); }
int main(void) {
	struct node *tail = 0;
	for (int i = 0; i < 100; i++) {
		struct node *n = older();
		n->next = head, head = n;
		tail = tail ? tail : n;
	}
	middle();
	for (int i = 0; i < 50; i++)
		tail = tail->next = younger();
	tail = 0;
	for (int i = 0; i < 20; i++) {
		void **stale = malloc(5000), *x = lose();
		memset(x, 1, 3333);
		for (int k = 0; k < 600; k++)
			stale[k] = x;
		__asm__ volatile("" ::"r"(stale), "r"(x) : "memory");
		free(stale);
		stale = x = 0;
	}
	end();
	return head == 0;
}
`

// buildUnwalked is the path of that program.
func buildUnwalked(t *testing.T) string {
	prog := filepath.Join(t.TempDir(), "unwalked")
	if err := os.WriteFile(prog+".c", []byte(unwalked), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(Tool(t, "gcc"), "-g", "-O1", "-o", prog, prog+".c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return prog
}

// TestUnwalkedViews has all views of memory agree that mimalloc's is an allocator's, with a recording and without.
func TestUnwalkedViews(t *testing.T) {
	prog := buildUnwalked(t)
	for _, recorded := range []bool{true, false} {
		args := []string{"-batch", "-nx", "-q", "-ex", "set environment LD_PRELOAD " + preloaded(t, "mimalloc"), "-ex", "break end"}
		wants := []string{"rw-p heap memory of mimalloc", "rw-p, memory of mimalloc", " mimalloc 1 "}
		if recorded {
			args = append(args, "-ex", "record start")
			wants = append(wants, "byte 0 of a live block of 208 bytes", " heap-used 1 95.6 KiB ")
		}
		out, err := exec.Command(HDB(t), append(args, "-ex", "run", "-ex", "vmmap heap", "-ex", "what head", "-ex", "vmmap -layers", prog)...).CombinedOutput()
		words := strings.Join(strings.Fields(string(out)), " ")
		for _, want := range wants {
			if err != nil || !strings.Contains(words, want) {
				t.Errorf("recorded %v: %v, want %q\n%s", recorded, err, want, out)
			}
		}
	}
}

// TestUnwalked asks for the leaks of allocators whose heaps are not walked, and of one whose heap is, recorded from the start on and from later.
func TestUnwalked(t *testing.T) {
	prog := buildUnwalked(t)
	for _, library := range []string{"mimalloc", "tcmalloc_minimal", "jemalloc", ""} {
		for _, plane := range []string{"auto", "off"} {
			for _, begin := range [][]string{{"record start", "break end", "run"}, {"break middle", "run", "record start", "break end", "continue"}} {
				t.Run(library+", probe "+plane+", "+begin[0], func(t *testing.T) {
					t.Parallel()
					args := []string{"-batch", "-nx", "-q"}
					for _, line := range append(append([]string{"set environment LD_PRELOAD " + preloaded(t, library), "set probe " + plane}, begin...), "leaks 9 --all --strict") {
						args = append(args, "-ex", line)
					}
					out, err := exec.Command(HDB(t), append(args, prog)...).CombinedOutput()
					for _, want := range []string{"definitely lost: 65.1 KiB (66660) in 20 blocks, of 20 allocated", "still reachable: 10.2 KiB (10400) in 50 blocks, of 50 allocated"} {
						if err != nil || !strings.Contains(string(out), want) {
							t.Errorf("%v, want %q\n%s", err, want, out)
						}
					}
				})
			}
		}
	}
}
