package printers_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// libcxxLocals are the variables of testdata/libcxx.cc; gdb has no printers for them.
const libcxxLocals = `s = "hello"
empty = ""
longs = 'x' <repeats 40 times>
ws = L"wide"
sv = "view"
v = std::vector of length 3, capacity 3 = {1, 2, 3}
none = std::vector of length 0, capacity 0
vs = std::vector of length 2, capacity 2 = {"a", "b"}
vb = std::vector<bool> of length 3, capacity 64 = {true, false, true}
m = std::map with 3 elements = {[1] = "one", [2] = "two", [3] = "three"}
mb = std::map with 1 element = {["k"] = {d = 1.5, c = 99 'c'}}
sc = std::set with 2 elements = {[0] = 97 'a', [1] = 98 'b'}
si = std::set with 3 elements = {[0] = 1, [1] = 2, [2] = 3}
sl = std::multiset with 2 elements = {[0] = 7, [1] = 7}
um = std::unordered_map with 1 element = {["x"] = 1}
us = std::unordered_set with 1 element = {[0] = 42}
up = std::unique_ptr<int> = {get() = ADDR}
upn = std::unique_ptr<int> = {get() = 0x0}
shp = std::shared_ptr<int> (use count 1, weak count 1) = {get() = ADDR}
shn = std::shared_ptr<int> (empty) = {get() = 0x0}
wp = std::weak_ptr<int> (use count 1, weak count 1) = {get() = ADDR}
gone = std::weak_ptr<int> (expired, weak count 1) = {get() = ADDR}
o1 = std::optional<int> = {[contained value] = 4}
o2 = std::optional<int> [no contained value]
va = std::variant<int, std::string, double> [index 1] = {"vv"}
vd = std::variant<int, std::string, double> [index 2] = {2.5}
pr = {first = 1, second = 2.5}
tp = std::tuple containing = {[1] = 1, [2] = 99 'c', [3] = "t"}
ar = {__elems_ = {7, 8, 9}}
li = std::list = {[0] = 1, [1] = 2}
le = empty std::list
dq = std::deque with 1999 elements = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, `

var libcxxQuestions = []struct{ ask, want string }{
	{"print *up", " = 5\n"}, {"print *shp", " = 6\n"}, {"print *o1", " = 4\n"}, {"print v[1]", " = 2\n"}, {"print s[1]", " = 101 'e'\n"}, {"print longs[3]", " = 120 'x'\n"},
	{"print ar[1]", " = 8\n"}, {"print dq[1500]", " = 1501\n"}, {"print s[7]", "has no elements"}, {"whatis m", "type = std::map<int, std::string>\n"}, {"whatis shp", "type = std::shared_ptr<int>\n"},
	{"print/r li", "__size_alloc_ = "},
}

// TestLibcxx shows containers of libc++ as what they hold.
func TestLibcxx(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "libcxx")
	source, err := filepath.Abs("testdata/libcxx.cc")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("clang++", "-std=c++17", "-stdlib=libc++", "-g", "-O0", source, "-o", prog)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	args := []string{"-nx", "-batch", "-ex", "break " + testprogs.StopLine(t, source), "-ex", "run", "-ex", "echo @@", "-ex", "info locals"}
	for _, q := range libcxxQuestions {
		args = append(args, "-ex", "echo @@", "-ex", q.ask)
	}
	out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
	parts := strings.Split(regexp.MustCompile(`0x[0-9a-f]{8,}`).ReplaceAllString(string(out), "ADDR"), "@@")
	if len(parts) != len(libcxxQuestions)+2 {
		t.Fatalf("%d answers:\n%s", len(parts)-1, out)
	}
	got := strings.Split(parts[1], "\n")
	for _, want := range strings.Split(libcxxLocals, "\n") {
		name, _, _ := strings.Cut(want, " ")
		found := ""
		for _, l := range got {
			if strings.HasPrefix(l, name+" ") {
				found = l
			}
		}
		if !strings.HasPrefix(found, want) {
			t.Errorf("got  %.200s\nwant %s", found, want)
		}
	}
	for i, q := range libcxxQuestions {
		if !strings.Contains(parts[i+2], q.want) {
			t.Errorf("%s: %s\nwant %s", q.ask, parts[i+2], q.want)
		}
	}
}

// TestHostileLibcxx prints containers whose memory is nonsense: they end.
func TestHostileLibcxx(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "hostilecxx")
	source, err := filepath.Abs("testdata/hostilecxx.cc")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("clang++", "-std=c++17", "-stdlib=libc++", "-g", "-O0", source, "-o", prog)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	began := time.Now()
	out, _ := exec.Command(testprogs.HDB(t), "-nx", "-batch", "-ex", "break "+testprogs.StopLine(t, source), "-ex", "run", "-ex", "set print elements 0", "-ex", "info locals", prog).Output()
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	if len(out) > 8<<20 {
		t.Errorf("%d bytes of text", len(out))
	}
	for _, want := range []string{
		"\nm = std::map with 1099511627776 elements = {[1] = 2, ", "the chain of elements is broken>}\nm2 = std::map with 4702111234474983745 elements", "\nl = std::list = {[0] = 1, <error: the chain of elements is broken>}\n",
		"\nv = {__begin_ = ", "\nu = std::unordered_map with 1099511627776 elements = {[1] = 2, <error: the chain of elements is broken>}\n", "\nd = {<", "<error: Cannot access memory at address 0x1234>",
		"\nother_s = {__r_ = {x = 0 '\\000'}}\nother_u = {__table_ = {x = 0}}\nother_v = {__impl_ = {x = 0}}\nother_m = {__tree_ = {x = 0}}\nother_p = {__ptr_ = 0x0}\nother_d = {x = 0}\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%.3000s", want, out)
		}
	}
}
