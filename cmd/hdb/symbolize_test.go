package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hdb/symbols"
	"hdb/testprogs"
)

// shop compiles testdata/symbolize.cc and lists addresses: each of its functions',
// and some that nobody knows.
func shop(t *testing.T, flags ...string) (prog string, list []string) {
	t.Helper()
	prog = filepath.Join(t.TempDir(), "shop")
	source, err := filepath.Abs("testdata/symbolize.cc")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testprogs.Tool(t, "g++"), append(flags, "-o", prog, source)...).CombinedOutput()
	if err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	obj, err := symbols.Open(prog, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer obj.Close()
	for _, name := range []string{"main", "shop::total", "twice", "plain"} {
		fns := obj.FindFunctions(name)
		if len(fns) == 0 {
			t.Fatalf("%s is not in the program", name)
		}
		for a := fns[0].Low; a < fns[0].High; a++ {
			list = append(list, fmt.Sprintf("%x", uint64(a)))
		}
	}
	return prog, append(list, "0", "0x7", "F0") // llvm names all that is above the last symbol after it
}

// symbolized1 runs hdb symbolize with in as its standard input.
func symbolized1(t *testing.T, in string, args ...string) string {
	t.Helper()
	var out, errw bytes.Buffer
	if code := symbolize(args, strings.NewReader(in), &out, &errw); code != 0 {
		t.Fatalf("hdb symbolize %v: exit %d: %s", args, code, &errw)
	}
	return out.String()
}

var (
	// GNU repeats the discriminator of the address at the calls around it, and llvm
	// has that of the inlined copy: hdb says it where it belongs.
	discriminated = regexp.MustCompile(` \(discriminator \d+\)`)
	// llvm has 0x1139 where GNU has 0x0000000000001139.
	padded = regexp.MustCompile(`(?m)^0x0*([0-9a-f])`)
	// GNU names return types of templates.
	returned = regexp.MustCompile(`(?m)^(0x\S+ )?void twice<`)
	// ?? without a name is not "at" a place with GNU.
	nowhere = regexp.MustCompile(`\?\? at \?\?:0`)
)

func normalized(s string) string {
	s = discriminated.ReplaceAllString(padded.ReplaceAllString(s, "0x$1"), "")
	return nowhere.ReplaceAllString(returned.ReplaceAllString(s, "${1}twice<"), "?? ??:0")
}

// TestAddr2line compares whole outputs, of all combinations of flags.
func TestAddr2line(t *testing.T) {
	for _, build := range []string{"-g -O0", "-g -O2", "-g -O2 -gdwarf-4"} {
		prog, list := shop(t, strings.Fields(build)...)
		for _, flags := range []string{"", "-f", "-i", "-fi", "-fia", "-fiaC", "-fps", "-pCfia", "-as", "-apifsC"} {
			args := []string{"-e", prog}
			if flags != "" {
				args = append(args, flags)
			}
			ours := normalized(symbolized1(t, strings.Join(list, "\n"), args...))
			if words := normalized(symbolized1(t, "", append(args, list...)...)); words != ours {
				t.Errorf("%s %s: addresses as arguments are answered otherwise", build, flags)
			}
			for _, tool := range []string{"addr2line", "llvm-addr2line"} {
				cmd := exec.Command(testprogs.Tool(t, tool), args...)
				cmd.Stdin = strings.NewReader(strings.Join(list, "\n") + "\n")
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				if d := firstDifference(ours, normalized(string(out))); d != "" {
					t.Errorf("%s %s %s: %s", build, tool, flags, d)
				}
			}
		}
	}
}

func firstDifference(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q, theirs is %q (after %q)", i+1, a[i], b[i], a[max(i-1, 0)])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines, theirs are %d", len(a), len(b))
	}
	return ""
}

func TestSymbolizeInSection(t *testing.T) {
	prog, _ := shop(t, "-g", "-O2")
	for _, args := range [][]string{{"-e", prog, "-f", "-j", ".text", "0", "5", "11"}, {"--exe=" + prog, "-fj.text", "0", "5", "11"}} {
		out, err := exec.Command(testprogs.Tool(t, "addr2line"), args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := symbolized1(t, "", args...); got != string(out) {
			t.Errorf("%v: got\n%sbut addr2line has\n%s", args, got, out)
		}
	}
	var out, errw bytes.Buffer
	if code := symbolize([]string{"-e", prog, "-j", ".none", "0"}, nil, &out, &errw); code != exitTarget || !strings.Contains(errw.String(), ".none") {
		t.Errorf("a section that is not there: exit %d, %s", code, &errw)
	}
}

func TestSymbolizeAsLLVM(t *testing.T) {
	prog, list := shop(t, "-g", "-O2")
	cmd := exec.Command(testprogs.Tool(t, "llvm-symbolizer"), "--obj="+prog)
	cmd.Stdin = strings.NewReader("0x" + strings.Join(list[:len(list)-3], "\n0x") + "\n")
	theirs, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := symbolized1(t, strings.Join(list[:len(list)-3], "\n"), "-e", prog, "--output-style=LLVM")
	if d := firstDifference(normalized(ours), normalized(string(theirs))); d != "" {
		t.Error(d)
	}
}

// An answer comes before the next question: whoever asks may wait for it.
func TestSymbolizeAnswersAtOnce(t *testing.T) {
	prog, list := shop(t, "-g", "-O0")
	questions, ask := io.Pipe()
	answers, out := io.Pipe()
	var errw bytes.Buffer
	done := make(chan int)
	go func() {
		code := symbolize([]string{"-e", prog, "-f"}, questions, out, &errw)
		out.Close()
		done <- code
	}()
	r := bufio.NewReader(answers)
	for _, a := range list[:20] {
		timeout := time.AfterFunc(time.Until(testprogs.Deadline(t)), func() { answers.CloseWithError(fmt.Errorf("%s was not answered", a)) })
		fmt.Fprintln(ask, a)
		name, err := r.ReadString('\n')
		if err == nil {
			_, err = r.ReadString('\n')
		}
		timeout.Stop()
		if err != nil || name != "main\n" {
			t.Fatalf("%s: %q %v", a, name, err)
		}
	}
	ask.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit %d: %s", code, &errw)
	}
}

// Words that are no address are named, and answered so that the others keep their places.
func TestSymbolizeRefuses(t *testing.T) {
	prog, _ := shop(t, "-g", "-O0")
	var out, errw bytes.Buffer
	code := symbolize([]string{"-e", prog, "-f"}, strings.NewReader("zzz\n0\n"+prog+".none 12\n"), &out, &errw)
	if code != 1 || out.String() != strings.Repeat("??\n??:0\n", 3) || strings.Count(errw.String(), "error: ") != 2 {
		t.Errorf("exit %d\n%s%s", code, &out, &errw)
	}
	for _, args := range []string{"", "-e", "-q", "--bogus", "-e x --pid 1", "--pid x", "--json=1", "--output-style=x -e x"} {
		var out, errw bytes.Buffer
		if code := symbolize(strings.Fields(args), nil, &out, &errw); code != exitUsage {
			t.Errorf("hdb symbolize %s: exit %d: %s", args, code, &errw)
		}
	}
}

// A file before each address, as in llvm-symbolizer's input.
func TestSymbolizeFiles(t *testing.T) {
	one, list := shop(t, "-g", "-O0")
	two, _ := shop(t, "-g", "-O0")
	in := fmt.Sprintf("%s %s\n\"%s\" 0x%s\n", one, list[0], two, list[0])
	if got := symbolized1(t, in, "-f", "-s"); got != strings.Repeat("main\nsymbolize.cc:22\n", 2) {
		t.Errorf("got %s", got)
	}
}

// The addresses of a process are those that it runs at, and the vDSO has no file.
func TestSymbolizeProcess(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	pid := fmt.Sprint(cmd.Process.Pid)
	libc, vdso := "", ""
	for deadline := testprogs.Deadline(t); libc == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		maps, err := os.ReadFile("/proc/" + pid + "/maps")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(maps)) {
			low, _, _ := strings.Cut(line, "-")
			f := strings.Fields(line)
			switch {
			case len(f) == 6 && strings.Contains(f[5], "/libc.so") && f[2] == "00000000":
				libc = low
			case len(f) == 6 && f[5] == "[vdso]":
				vdso = low
			}
		}
	}
	at := func(path, low, name string) (file, run uint64) {
		obj, err := symbols.Open(path, symbols.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer obj.Close()
		var base uint64
		fmt.Sscanf(low, "%x", &base)
		for _, s := range obj.Symtab.Symbols(name) {
			return uint64(s.Addr), base + uint64(s.Addr)
		}
		t.Fatalf("no %s in %s", name, path)
		return 0, 0
	}
	_, run := at("/lib/x86_64-linux-gnu/libc.so.6", libc, "malloc")
	if got := symbolized1(t, "", "--pid", pid, "-fC", fmt.Sprintf("%x", run)); !strings.Contains(got, "malloc") {
		t.Errorf("malloc of the process is %q", got)
	}
	if got := symbolized1(t, "", "--pid", pid, "-f", "10"); got != "??\n??:0\n" {
		t.Errorf("address 16 of the process is %q", got)
	}
	if vdso != "" {
		var base uint64
		fmt.Sscanf(vdso, "%x", &base)
		all := ""
		for off := uint64(0x600); off < 0x1800; off += 16 {
			all += fmt.Sprintf("%x\n", base+off)
		}
		if got := symbolized1(t, all, "--pid", pid, "-f"); !strings.Contains(got, "clock_gettime") {
			t.Errorf("no clock_gettime in the vDSO:\n%s", got)
		}
	}
}

// A return address is that after the call, and stands for it.
func TestSymbolizeReturn(t *testing.T) {
	prog, list := shop(t, "-g", "-O0")
	byPC := symbolized1(t, strings.Join(list, "\n"), "-e", prog, "-fi")
	var after []string
	for _, a := range list {
		var v uint64
		fmt.Sscanf(strings.TrimPrefix(a, "0x"), "%x", &v)
		after = append(after, fmt.Sprintf("%x", v+1))
	}
	if got := symbolized1(t, strings.Join(after, "\n"), "-e", prog, "-fi", "--return"); got != byPC {
		t.Error("--return does not answer for the byte before")
	}
}

func TestSymbolizeJSON(t *testing.T) {
	prog, list := shop(t, "-g", "-O2")
	out := symbolized1(t, list[0]+"\n0\n", "-e", prog, "--json", "-i")
	var rows []symbolized
	for line := range strings.Lines(out) {
		var row symbolized
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if len(rows) != 2 || rows[0].Address != "0x"+list[0] || len(rows[0].Frames) == 0 || rows[0].Frames[0].Line == 0 || len(rows[1].Frames) != 0 {
		t.Errorf("got %s", out)
	}
}

// A function or a line has its address looked up, which is answered like one asked for.
func TestSymbolizeFind(t *testing.T) {
	prog, list := shop(t, "-g", "-O0")
	main := strings.Repeat("0", 16-len(list[0])) + list[0]
	for _, word := range []string{"main", "symbolize.cc:main"} {
		if got := symbolized1(t, "", "-e", prog, "-fs", "--find", word); got != "0x"+main+"\nmain\nsymbolize.cc:22\n" {
			t.Errorf("%s is at %s", word, got)
		}
	}
	if got := symbolized1(t, "symbolize.cc:22\nshop::total\n", "-e", prog, "-fsCp", "--find"); !strings.Contains(got, ": main at symbolize.cc:2") || !strings.Contains(got, ": shop::total(") {
		t.Errorf("got %s", got)
	}
	var out, errw bytes.Buffer
	if code := symbolize([]string{"-e", prog, "--find", "nothing"}, nil, &out, &errw); code != 1 || out.Len() > 0 || !strings.Contains(errw.String(), "no such function or line") {
		t.Errorf("exit %d: %s%s", code, &out, &errw)
	}
	if code := symbolize([]string{"--find", "main"}, nil, &out, &errw); code != exitUsage {
		t.Errorf("without a file: exit %d", code)
	}
}
