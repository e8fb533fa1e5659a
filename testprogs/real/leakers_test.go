package real

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// A leaker is a program that exits with blocks it has not given back.
type leaker struct {
	Program
	quick     bool        // tried in the short form, too
	status    int         // that it exits with
	calls     int         // how many calls of a stack are compared, if not all that both tools see
	noStacks  bool        // hdb joins stacks by functions of Python: only sums are compared
	joined    bool        // possibly lost and still reachable blocks are compared in one sum
	sized     bool        // how some blocks are held depends on the sizes asked for, which a walk of the heap does not find
	about     bool        // sums may differ by a hundredth
	differs   []exception // what is not compared
	lsanHolds []exception // what LeakSanitizer alone holds
	noLSan    string      // why what is lost is not compared with LeakSanitizer
}

// An exception is about blocks whose stack has a function that begins so, and that have this size, if any.
type exception struct {
	in   string
	size uint64
	why  string
}

// filled has glibc overwrite what is freed and what is handed out, so that blocks have no words of earlier ones: memcheck
// passes over words that the program has not written.
const filled = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"

func leakers(t *testing.T) []leaker {
	t.Helper()
	const noMappings = "it does not search mappings, where the program has its pointers"
	sqlite := SQLite(t)
	sqlite.Args = append(sqlite.Args, "SELECT nothing") // an error: the database is not closed
	return []leaker{
		{Program: sqlite, quick: true, status: 1, sized: true},
		{Program: Perl(t), quick: true, lsanHolds: []exception{{"Perl_tmps_grow_p", 0, "a word that a block has from an earlier one points into it"}}},
		{Program: bash(t)},
		{Program: Git(t)},
		{Program: makeRules(t)},
		{Program: linker(t)},
		{Program: tcl(t), calls: 4}, // further out is who first finds an internal list empty, or a table full, which depends on addresses
		{Program: threads(t), differs: []exception{{"allocate_dtv", 0, "thread descriptors have only pointers into their vector of thread-local storage; hdb knows it, as LeakSanitizer does"}}},
		{Program: compiler(t), noLSan: noMappings, differs: []exception{{"ggc_internal_alloc", 32768, "the compiler's collector has one such table for each 4 GiB of addresses in which the kernel gave it memory"}}},
		{Program: clang(t), calls: 3, differs: []exception{{"llvm::InitLLVM::InitLLVM", 0, "a stack for signals, as large as the processor's registers want: valgrind's has fewer"}}},
		// What pymalloc's freed memory still points to, and with it whether a block is possibly lost, depends on where its arenas lie.
		{Program: python(t, "python3"), joined: true, noStacks: true, noLSan: noMappings},
		// The collector's lists lead from start to start of the blocks up to the first object of a user's class, and into blocks from there on. So a stale
		// word on a stack decides about hundreds of blocks. The order of the lists, and a few blocks, depend on addresses: memcheck's sums, too, change with --redzone-size.
		{Program: python(t, "python3-malloc", "PYTHONMALLOC=malloc"), about: true, noLSan: "it does not look after _exit"},
	}
}

// at is a program at work on a file of this content.
func at(t *testing.T, name, debianPackage, file, content string, args ...string) Program {
	t.Helper()
	in := inputFile(t, file, []byte(content))
	return Program{Name: name, Command: testprogs.Command{Path: resolve(t, name, debianPackage), Args: args, Env: environment(in), Dir: in}}
}

func bash(t *testing.T) Program { return at(t, "bash", "bash", "work.sh", bashWork, "work.sh") }

func makeRules(t *testing.T) Program {
	return at(t, "make", "make", "rules.mk", makeWork, "-f", "rules.mk")
}

func tcl(t *testing.T) Program { return at(t, "tclsh", "tcl", "work.tcl", tclWork, "work.tcl") }

// linker is ld, linking a program of C with libc.
func linker(t *testing.T) Program {
	t.Helper()
	object := testprogs.Build(t, "globals", "-c")
	dir := gccSays(t, "-print-file-name=crt1.o")
	p := at(t, "ld", "binutils", "unused", "", "-o", "/dev/null", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "-pie",
		filepath.Join(filepath.Dir(dir), "Scrt1.o"), object, "-L"+filepath.Dir(dir), "-lc")
	return p
}

// threads is zstd with four threads at work.
func threads(t *testing.T) Program {
	return at(t, "zstd", "zstd", "work.c", strings.Repeat(makeWork+bashWork+tclWork, 1000), "-T4", "-5", "-q", "-f", "-o", "/dev/null", "work.c")
}

// compiler is the compiler of C without its driver.
func compiler(t *testing.T) Program {
	t.Helper()
	p := at(t, "gcc", "gcc", "unused", "", "-quiet", "-O2", "-imultiarch", "x86_64-linux-gnu", "-g", "-o", "/dev/null", testprogs.Source(t, "globals"))
	p.Name, p.Path = "cc1", gccSays(t, "-print-prog-name=cc1")
	return p
}

// clang is the compiler of C++ without its driver.
func clang(t *testing.T) Program {
	t.Helper()
	p := at(t, "clang", "clang", "work.cc", clangWork, "-cc1", "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-O2", "-std=c++17", "-disable-free", "-x", "c++", "-o", "/dev/null", "work.cc")
	p.Env = append(p.Env, filled)
	return p
}

// python exits without giving back what it has.
func python(t *testing.T, name string, env ...string) Program {
	t.Helper()
	p := at(t, "/usr/bin/python3", "python3", "work.py", pythonWork+"\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n", "-s", "-S", "-B", "work.py")
	p.Name = name
	p.Env = append(append(p.Env, "PYTHONHASHSEED=0"), env...)
	return p
}

func gccSays(t *testing.T, what string) string {
	t.Helper()
	out, err := exec.Command(testprogs.Tool(t, "gcc"), what).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

const bashWork = `
declare -A a
for ((i = 0; i < 600; i++)); do a[key$i]=value$((i * 7919 % 600)); l[i]=${a[key$i]}; done
f() { local x=$1; shift; (( $# )) && f "$@"; r+=$x; }
f {1..60}
s=
for k in "${!a[@]}"; do s+="$k=${a[$k]},"; done
[[ $s =~ key7[0-9]*=value([0-9]+) ]] && m=${BASH_REMATCH[1]}
printf '%s\n' "${#a[@]} ${#l[@]} ${#s} ${#r}"
`

const makeWork = `
digits := 0 1 2 3 4 5 6 7 8 9
names := $(foreach a,$(digits),$(foreach b,$(digits),$(foreach c,$(digits),n$(a)$(b)$(c))))
all: $(names)
	@:
define rule
$(1): $(filter n00%,$(names))
V_$(1) = $(1) $(subst n,m,$(1))
endef
$(foreach n,$(filter-out n00%,$(names)),$(eval $(call rule,$(n))))
.PHONY: all $(names)
`

const tclWork = `
set d [dict create]
for {set i 0} {$i < 3000} {incr i} {
    dict set d key$i [list $i [expr {$i * 7919 % 3000}] [string repeat x [expr {$i % 200}]]]
}
set names [lsort [dict keys $d]]
array set a {}
foreach n $names { set a($n) [string toupper $n] }
set text [join $names ,]
puts "[llength $names] [array size a] [string length $text] [regexp -all {key\d*7} $text]"
exit 0
`

const clangWork = `
template <int N, class... A> struct List { List<N - 1, A..., int[N]> next; int value = N; };
template <class... A> struct List<0, A...> { int value = sizeof...(A); };
template <class T> struct Node {
	T value;
	Node *next;
	Node(T v, Node *n) : value(v), next(n) {}
	virtual ~Node() { delete next; }
};
template <class T> T sum(Node<T> *n) { return n ? n->value + sum(n->next) : T(); }
List<60> all;
int main()
{
	Node<int> *n = nullptr;
	for (int i = 0; i < 10; i++)
		n = new Node<int>(i, n);
	auto f = [n](auto x) { return sum(n) + x; };
	return f(1) + f(2L) + all.value;
}
`
