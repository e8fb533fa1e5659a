package printers_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// libraryLocals are variables of ../testdata/library.cc that gdb's printers do not show, or
// not as well, with libstdc++ and with libc++.
var libraryLocals = strings.Split(`mend = end iterator for associative container
lend = end iterator for std::list
flend = non-dereferenceable iterator for std::forward_list
umend = non-dereferenceable iterator for unordered container
umi = {first = "k", second = {x = 1, y = 2}}
usi = 42
e0 = std::error_code = { }
e1 = std::error_code = {"generic": ENOENT}
e2 = std::error_code = {"system": ENOENT}
c1 = std::error_condition = {"generic": EACCES}
mu = std::mutex (locked by thread N)
held = std::mutex (locked by thread N)
rm = std::recursive_mutex (locked 2 times by thread N)
sm = std::shared_mutex (1 reader)
nobody = std::thread (no thread)
cv = std::condition_variable (no waiters)
f0 = std::function<int(int)> [no target]
f1 = std::function<int(int)> containing int (*)(int) = {[target] = 0xN <twice(int)>}
f2 = std::function<int(int)> containing adder = {[target] = {by = 3}}
f3 = std::function<int(int)> containing main::{lambda(int)#1} = {[target] = {__v = std::vector of length 3, capacity 3 = {3, 1, 2}}}
ms = std::chrono::duration = { 250ms }
hr = std::chrono::duration = { 2h }
dd = std::chrono::duration = { 1.5s }
odd = std::chrono::duration = { 7[1/30]s }
tp = std::chrono::sys_time = { 1000000000000000000ns [2001-09-09 01:46:40] }
stp = std::chrono::steady_clock time_point = { 5ns }
rw = std::reference_wrapper<int> = {get() = 3}
cx = std::complex<double> = 1 + 2i
vi = 1
vnull = non-dereferenceable iterator for std::vector
vpi = {x = 1, y = 2}
vbi = true
vbr = false
li = 1
lci = 1
di = 2
mi = {first = "y", second = 2}
mpi = {first = 1, second = {x = 10, y = 11}}
sci = 97 'a'
fli = 4
a0 = std::any [no contained value]
a1 = std::any containing int = {[contained value] = 5}
a2 = std::any containing std::string = {[contained value] = "in any"}
a3 = std::any containing point = {[contained value] = {x = 1, y = 2}}
sp = std::span of length 3 = {3, 1, 2}
sp3 = std::span of length 3 = {7, 8, 9}
il = std::initializer_list of length 3 = {1, 2, 3}
apt = std::atomic<point> = { {x = 1, y = 2} }
bl = std::bitset = {[70] = 1}
fl = std::forward_list = {[0] = 4, [1] = 5, [2] = 6}
fle = empty std::forward_list
pq = std::priority_queue wrapping: std::vector of length 3, capacity 3 = {3, 1, 2}
ord = std::strong_ordering::less`, "\n")

// libcxxOnly are those that look different with libc++, whose paths keep no components and
// whose debug information has no types of mutexes that only the library defines.
var libcxxOnly = map[string]string{
	"rm": "<incomplete type>", "sm": "{__base = <incomplete type>}",
	"f0": "std::function<int (int)> [no target]",
	"f1": "std::function<int (int)> containing int (*)(int) = {[target] = 0xN <twice(int)>}",
	"f2": "std::function<int (int)> containing adder = {[target] = {by = 3}}",
	"f3": "std::function<int (int)> containing main::$_0",
	"tp": "std::chrono::sys_time = { 1000000000000000us [2001-09-09 01:46:40] }",
	"cx": "std::complex<double> = {real = 1, imag = 2}",
}

var libraryQuestions = []struct{ ask, want string }{
	{`print m["x"]`, " = 1\n"}, {`print m["q"]`, "no element has this key"}, {"print m[s]", "no element has this key"}, {"print m[3]", "keys are of type const std::string, not int"},
	{"print mp[3].y", " = 31\n"}, {`print um["k"]`, " = {x = 1, y = 2}\n"}, {"print mc[color::green]", " = 5\n"}, {"print us.contains(42)", " = true\n"}, {"print us.contains(1)", " = false\n"},
	{"print *vi", " = 1\n"}, {"print vpi->y", " = 2\n"}, {"print mi->second", " = 2\n"}, {"print *mi", " = {first = \"y\", second = 2}\n"}, {"print umi->second.y", " = 2\n"}, {"print lpi->x", " = 5\n"},
	{"print *mend", "end iterator for associative container cannot be followed"}, {"print *vnull", "non-dereferenceable iterator for std::vector cannot be followed"},
	{"print op.value()", " = {x = 1, y = 2}\n"}, {"print op->y", " = 2\n"}, {"print on.value()", "the optional has no value"}, {"print *on", "the optional has no value"}, {"print on->y", "the optional has no value"}, {"print *op", " = {x = 1, y = 2}\n"}, {"print on.has_value()", " = false\n"},
	{"print s.c_str()", " \"hello\"\n"}, {"print s.back()", " = 111 'o'\n"}, {"print s.size() + v.size()", " = 8\n"}, {"print e.empty()", " = true\n"}, {"print sv.size()", " = 4\n"},
	{"print st.top()", " = 3\n"}, {"print qu.front()", " = 1\n"}, {"print pq.top()", " = 3\n"}, {"print fl.empty()", " = false\n"}, {"print fl.front()", " = 4\n"},
	{"print none.front()", "there are no elements"}, {"print v.at(7)", "no element 7: there are 3"}, {"print *v.data()@3", " = {3, 1, 2}\n"}, {"print &v.front() == v.data()", " = true\n"},
	{"print vs.front().size()", " = 1\n"}, {"print ai.load()", " = 5\n"}, {"print ms.count()", " = 250\n"}, {"print rw.get()", " = 3\n"}, {"print shp.use_count()", " = 1\n"}, {"print p1.string()", " = \"/usr/lib/x.so\"\n"},
	{"print sp[1]", " = 1\n"}, {"print vb[2]", " = true\n"},
	{"print v.nothing(1)", `std::vector<int> has no member function "nothing": see ptype`}, {"print twice(1)", " = 2\n"}, {"print up->nothing()", `point has no member function "nothing": see ptype`},
}

// TestLibrary shows values of C++'s library, and asks them as a program would by member
// functions.
func TestLibrary(t *testing.T) {
	testLibrary(t, nil, "g++")
}

// TestLibraryCxx does the same with libc++.
func TestLibraryCxx(t *testing.T) {
	if testing.Short() {
		t.Skip("TestLibcxx asks for the containers")
	}
	testLibrary(t, libcxxOnly, "clang++", "-stdlib=libc++")
}

func testLibrary(t *testing.T, other map[string]string, build ...string) {
	t.Helper()
	prog := filepath.Join(t.TempDir(), "library")
	source, err := filepath.Abs("../testdata/library.cc")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(build[0], append(build[1:], "-std=c++20", "-g", "-O0", "-pthread", source, "-o", prog)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	args := []string{"-nx", "-batch", "-ex", "break " + testprogs.StopLine(t, source), "-ex", "run", "-ex", "echo @@", "-ex", "info locals"}
	for _, q := range libraryQuestions {
		args = append(args, "-ex", "echo @@", "-ex", q.ask)
	}
	out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
	text := regexp.MustCompile(`0x[0-9a-f]{8,}`).ReplaceAllString(string(out), "0xN")
	parts := strings.Split(regexp.MustCompile(`by thread \d+`).ReplaceAllString(text, "by thread N"), "@@")
	if len(parts) != len(libraryQuestions)+2 {
		t.Fatalf("%d answers:\n%s", len(parts)-1, out)
	}
	for _, want := range libraryLocals {
		name, _, _ := strings.Cut(want, " ")
		if o := other[name]; o != "" {
			want = name + " = " + o
		}
		if !strings.Contains(parts[1], "\n"+want+"\n") {
			_, got, _ := strings.Cut(parts[1], "\n"+name+" = ")
			got, _, _ = strings.Cut(got, "\n")
			t.Errorf("%s = %.300s\nwant %s", name, got, want)
		}
	}
	for i, q := range libraryQuestions {
		if !strings.Contains(parts[i+2], q.want) {
			t.Errorf("%s: %s\nwant %s", q.ask, parts[i+2], q.want)
		}
	}
}
