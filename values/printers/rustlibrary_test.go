package printers_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// askRust builds a program of Rust, stops it at the marked line, and returns what hdb
// answers to each question.
func askRust(t *testing.T, name string, ask []string) []string {
	t.Helper()
	prog := filepath.Join(t.TempDir(), strings.TrimSuffix(name, ".rs"))
	source, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("rustc", "-g", "-C", "opt-level=0", source, "-o", prog)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	args := []string{"-nx", "-batch", "-ex", "break " + testprogs.StopLine(t, source), "-ex", "run"}
	for _, q := range ask {
		args = append(args, "-ex", "echo @@", "-ex", q)
	}
	out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
	parts := strings.Split(string(out), "@@")
	if len(parts) != len(ask)+1 {
		t.Fatalf("%d answers:\n%.4000s", len(parts)-1, out)
	}
	return parts[1:]
}

var rustLibraryQuestions = []struct{ ask, want string }{
	{"print shape", " = Box<dyn library::Shape> {value = library::Point {x: 3, y: 4}}\n"},
	{"print other", " = Box<dyn library::Shape> {value = library::Circle (5)}\n"},
	{"print by_ref", " = &dyn library::Shape {value = library::Point {x: 6, y: 7}}\n"},
	{"print rc_dyn", " = Rc(strong=1, weak=0) {value = library::Circle (8)}\n"},
	{"print shapes", " = Vec(size=2) [Box<dyn library::Shape> {value = library::Circle (1)}, Box<dyn library::Shape> {value = library::Point {x: 1, y: 1}}]\n"},
	{"print f", " {value = library::main::{closure_env#0}}\n"},
	{"print *shape", " = library::Point {x: 3, y: 4}\n"}, {"print shape.x", " = 3\n"}, {"whatis *other", "type = library::Circle\n"}, {"print *shapes[0]", " = library::Circle (1)\n"},
	{"print *b", " = library::Point {x: 1, y: 2}\n"}, {"print b.y", " = 2\n"}, {"print *rc", " = library::Point {x: 9, y: 10}\n"}, {"print rc.x", " = 9\n"}, {"print rc_dyn.__0", " = 8\n"},
	{"print weak", " = Weak(strong=1, weak=1) {value = library::Point {x: 9, y: 10}}\n"}, {"print dangling", " = Weak(dangling)\n"},
	{"print aweak", " = Weak(strong=1, weak=1) {value = Mutex(unlocked) {value = 5}}\n"}, {"print arc", " = Arc(strong=1, weak=1) {value = Mutex(unlocked) {value = 5}}\n"},
	{"print list", " = LinkedList(size=3) {1, 2, 3}\n"}, {"print nolist", " = LinkedList(size=0) {}\n"}, {"print list.back()", " = 3\n"}, {"print list.len()", " = 3\n"},
	{"print path", ` = "/usr/lib"` + "\n"}, {"print buf", ` = "/tmp/x"` + "\n"}, {"print os", ` = "os"` + "\n"}, {"print c", ` = "cstr"` + "\n"},
	{"print m", " = Mutex(unlocked) {value = Vec(size=2) [1, 2]}\n"}, {"print held", " = Mutex(locked) {value = 7}\n"}, {"print *guard", " = 7\n"}, {"print m.lock().len()", " = 2\n"},
	{"print rw", ` = RwLock(1 reader) {value = "text"}` + "\n"}, {"print reading", ` = RwLockReadGuard {value = "text"}` + "\n"},
	{"print cell.get()", " = 3\n"}, {"print refcell.borrow().x", " = 1\n"}, {"print borrowed", " = RefMut {value = library::Point {x: 1, y: 1}}\n"}, {"print borrowed.y", " = 1\n"},
	{"print d", " = Duration(1.5s)\n"}, {"print dz", " = Duration(0ns)\n"}, {"print st", " = SystemTime(2001-09-09 01:46:40)\n"}, {"print now", " = Instant("},
	{"print nz", " = 5\n"}, {"print nzi", " = -5\n"}, {"print ab", " = AtomicBool(true)\n"}, {"print ai", " = AtomicI32(-3)\n"}, {"print au.load()", " = 4\n"}, {"print v[1] + nz.get()", " = 25\n"},
	{"print opt.unwrap().y", " = 2\n"}, {"print none.unwrap()", "the Option is None"}, {"print opt.is_some()", " = true\n"},
	{`print hm["one"]`, " = 1\n"}, {`print hm["three"]`, "no element has this key"}, {"print bm[2]", ` = "b"` + "\n"}, {"print bm.contains_key(1)", " = true\n"}, {"print v.last()", " = 30\n"}, {"print s.len()", " = 5\n"},
	{"print shape.area()", " = 12\n"}, {"print shape.volume()", `library::Point has no method "volume" with code`},
}

// TestRustLibrary shows values of Rust's library, and asks them as a program would.
func TestRustLibrary(t *testing.T) {
	var ask []string
	for _, q := range rustLibraryQuestions {
		ask = append(ask, q.ask)
	}
	for i, got := range askRust(t, "library.rs", ask) {
		if q := rustLibraryQuestions[i]; !strings.Contains(got, q.want) {
			t.Errorf("%s: %.400s\nwant %s", q.ask, got, q.want)
		}
	}
}

// TestHostileRust prints values of Rust's library whose bytes are nonsense: they end, or are
// printed by their members.
func TestHostileRust(t *testing.T) {
	began := time.Now()
	got := strings.Join(askRust(t, "hostile.rs", []string{"set print elements 0", "info locals", "print n", "print list2.value.value.__0[0].back()", "print hm2.value.value.__0[0][7]"}), "")
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	if len(got) > 8<<20 {
		t.Errorf("%d bytes of text", len(got))
	}
	for _, want := range []string{
		"Box<dyn hostile::Shape> {value = 5}", "{pointer: 0x4141414141414141, vtable: 0x4141414141414141}", "Weak(dangling)", "LinkedList(size=1099511627776) {<error: ", "core::time::Duration {secs: 4702111234474983745, ",
		"some elements were not found", "the last of ", "std::sync::poison::mutex::Mutex<i32> {",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%.3000s", want, got)
		}
	}
}
