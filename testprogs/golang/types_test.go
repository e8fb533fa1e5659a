package golang

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hdb/capture/file"
	"hdb/internal/units"
	"hdb/testprogs"
)

// aboutTypes are questions whose answers have types, or ask for them.
var aboutTypes = []string{
	"top 1000 per type", "top 1000 by blocks per type", "live 30", `live all if type("main.wide")`, `live all if type("[]*int")`,
	`allocs all if type("main.flat")`, `allocs 20 if !type("main.small") && size < 1k`,
}

// answered are the answers to questions about a capture, as a console prints them.
func answered(t *testing.T, path string, questions ...string) string {
	t.Helper()
	cmd := exec.Command(testprogs.HDB(t), "-q", path)
	cmd.Stdin = strings.NewReader(strings.Join(questions, "\n") + "\n")
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, b)
	}
	return string(b)
}

// unknownTypes is how answers say that types are not known.
const unknownTypes = "types of Go are not known: "

// typeRows are the rows of top per type that name a type.
func typeRows(t *testing.T, path string) string {
	t.Helper()
	text := answered(t, path, "top 1000 per type")
	if strings.Contains(text, unknownTypes) {
		t.Errorf("%s: %s", path, text)
	}
	var rows []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "iB  ") && !strings.Contains(line, " ? ") {
			rows = append(rows, line)
		}
	}
	if len(rows) < 5 || !strings.Contains(text, " main.wide\n") {
		t.Errorf("%s: few types:\n%s", path, text)
	}
	return strings.Join(rows, "")
}

// TestTypesOfCaptures has captures of Go programs tell the same types when the program's file is
// gone, or another one has its place, however they were made.
func TestTypesOfCaptures(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			kinds := append(forms(toolchain), []string{"-buildmode=pie", "-ldflags=-s -w"})
			if testing.Short() {
				kinds = [][]string{{"-ldflags=-s -w"}}
			}
			other := build(t, "garbage", toolchain)
			for _, flags := range kinds {
				program := build(t, "stress", toolchain, flags...)
				captures := capturesOf(t, program, testing.Short() && toolchain != "local")
				with := map[string]string{}
				for _, path := range captures {
					with[path] = answered(t, path, aboutTypes...)
					if strings.Contains(with[path], unknownTypes) || !strings.Contains(with[path], "main.wide") {
						t.Fatalf("%v: %s has no types:\n%s", flags, path, with[path])
					}
				}
				dir := filepath.Dir(program)
				cut := killed(t, program)
				known := typeRows(t, cut)
				away := filepath.Join(t.TempDir(), "program")
				if err := os.Rename(program, away); err != nil {
					t.Fatal(err)
				}
				check := func(how string) {
					t.Helper()
					for _, path := range captures {
						if got := answered(t, path, aboutTypes...); got != with[path] {
							t.Errorf("%v: %s: of %s with its file\n%s\nand now\n%s", flags, how, path, with[path], got)
						}
					}
					if got := typeRows(t, cut); got != known {
						t.Errorf("%v: %s: of a recording that was cut off, with its file\n%s\nand now\n%s", flags, how, known, got)
					}
				}
				check("the file is gone")
				text, err := os.ReadFile(other)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(program, text, 0o777); err != nil {
					t.Fatal(err)
				}
				// One that is older, too: before Go 1.24 programs have no build ID but Go's own.
				if old := time.Now().Add(-time.Hour); os.Chtimes(program, old, old) != nil {
					t.Fatal("the time of the file cannot be set")
				}
				check("another file has its place")
				untyped := withoutTypes(t, captures[0])
				got := answered(t, untyped, aboutTypes...)
				if strings.Count(got, unknownTypes+program+": ") != len(aboutTypes) || strings.Count(got, ": not used; ") != len(aboutTypes) || strings.Contains(got, "main.wide\n") {
					t.Errorf("%v: without types, and with another program: %s", flags, got)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				got = answered(t, untyped, append(aboutTypes, "top 3")...)
				if strings.Count(got, unknownTypes+"stress: no such file") != len(aboutTypes) {
					t.Errorf("%v: without types or the program: %s", flags, got)
				}
			}
		})
	}
}

// capturesOf are captures of a program in all ways that they are made in, or one.
func capturesOf(t *testing.T, program string, one bool) (all []string) {
	t.Helper()
	_, recorded := record(t, program, "200")
	if one {
		return []string{recorded}
	}
	dir := t.TempDir()
	in := func(name string) string {
		all = append(all, filepath.Join(dir, name))
		return all[len(all)-1]
	}
	hdb := func(args ...string) {
		t.Helper()
		if b, err := exec.Command(testprogs.HDB(t), args...).CombinedOutput(); err != nil {
			t.Fatalf("hdb %q: %v\n%s", args, err, b)
		}
	}
	all = append(all, recorded)
	hdb("capture", "trim", "--from", "10%", recorded, "-o", in("trimmed.hdb"))
	hdb("capture", "repair", recorded, "-o", in("repaired.hdb"))
	_, second := record(t, program, "100")
	hdb("capture", "merge", recorded, second, "-o", in("merged.hdb"))
	hdb("capture", "anonymize", "--keep-functions", recorded, "-o", in("anonymous.hdb"))

	c := open(t, program, "500")
	c.want("record start", "recording")
	c.ask("break alloc if type(\"main.wide\")")
	c.ask("run")
	c.ask("clearall")
	c.ask("continue")
	c.want("save "+in("saved.hdb"), "saved ")
	c.quit()

	running := start(t, program)
	hdb("record", "-o", in("attached.hdb"), "--duration", "200ms", "-p", fmt.Sprint(running.cmd.Process.Pid))
	running.end(t)
	return all
}

// killed is what a recording has whose hdb is killed.
func killed(t *testing.T, program string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "killed.hdb")
	running := start(t, program)
	cmd := exec.Command(testprogs.HDB(t), "record", "-o", path, "-p", fmt.Sprint(running.cmd.Process.Pid))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := testprogs.Deadline(t); ; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is recorded")
		}
		if f, err := file.Open(path); err == nil {
			n := f.Len()
			f.Close()
			if n > 200_000 { // some chunks, so that what the first one has to wait for is written
				break
			}
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	running.end(t)
	return path
}

// withoutTypes is a capture as one that kept no types.
func withoutTypes(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header, types, unknown = 24, 18, 200 // see docs/capture-format.md
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for at := 16; at+header <= len(b); at += header + int(binary.LittleEndian.Uint32(b[at+12:])) {
		if b[at+8] == types {
			b[at+8] = unknown
			binary.LittleEndian.PutUint32(b[at+20:], crc32.Checksum(b[at:at+20], castagnoli))
		}
	}
	out := filepath.Join(t.TempDir(), "untyped.hdb")
	if err := os.WriteFile(out, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTypesWithoutRecording has live, top and find tell the types of blocks that nobody has recorded, of a
// process and of a core file.
func TestTypesWithoutRecording(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			for _, flags := range forms(toolchain) {
				symbols := strings.Join(flags, "") != "-ldflags=-s -w"
				if old := regexp.MustCompile(`^go1\.(18|19|2[01])\.`); !symbols && old.MatchString(toolchain) {
					continue // whose heap has no types, which nothing else tells without debug information
				}
				if testing.Short() && toolchain == "go1.27.4" && symbols {
					continue // the local one has them: this is about what its runtime tells
				}
				program := build(t, "heap", toolchain, flags...)
				cmd := exec.Command(program)
				said, end := saidBy(t, cmd)
				defer end()
				core := filepath.Join(t.TempDir(), "core")
				c := open(t, "-p", fmt.Sprint(cmd.Process.Pid))
				live := typesIn(t, c, said, symbols)
				c.ask("gcore " + core)
				c.quit()
				cmd.Process.Kill()
				c = open(t, "core", program, core)
				if dead := typesIn(t, c, said, symbols); dead != live {
					t.Errorf("%v: of the process\n%s\nof its core file\n%s", flags, live, dead)
				}
				c.quit()
			}
		})
	}
}

// typesIn asks for the types of a heap, and compares them with what the program has said. It returns the answers.
func typesIn(t *testing.T, c *console, said []heapLine, symbols bool) string {
	t.Helper()
	c.ask("echo") // what hdb begins with
	const slots = "sizes of blocks of Go are those of their slots"
	top := c.want("top 1000 per type", "nothing was recorded", slots)
	all := top
	var blocks uint64
	for line := range strings.Lines(top) {
		f := strings.Fields(line)
		if len(f) > 2 && (strings.HasSuffix(f[1], "iB") || f[1] == "B") {
			n, err := strconv.ParseUint(strings.ReplaceAll(f[2], ",", ""), 10, 64)
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			blocks += n
		}
	}
	if guesses, kept := strings.Count(top, "(guess)"), strings.Count(c.want("top 1000 by retained per type", "retained"), "(guess)"); guesses != kept || guesses == 0 {
		t.Errorf("%d rows of top per type are guesses, %d of top by retained", guesses, kept)
	}
	held := c.want("leaks", "Go: ")
	_, rest, _ := strings.Cut(held, ") in ")
	words := strings.Fields(rest)
	if len(words) == 0 || words[0] != units.Grouped(blocks) {
		t.Errorf("top per type has %d blocks, leaks %s", blocks, held)
	}
	pattern := regexp.MustCompile(`(?m)^(0x[0-9a-f]+) .*?(perhaps )?main\.`)
	known := func(typ string) map[string]string {
		text := c.want("find -type /100000 "+typ, typ, slots)
		all += text
		found := map[string]string{}
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			found[m[1]] = m[2]
		}
		listed := c.want(fmt.Sprintf("live all if type(%q)", typ), typ, slots, " in "+units.Count(uint64(len(found)), "block"))
		all += listed
		if !strings.Contains(c.ask("leaks if type(\""+typ+"\")"), " in "+units.Count(uint64(len(found)), "block")+" live") {
			t.Errorf("leaks if type(%q) has not %d blocks", typ, len(found))
		}
		return found
	}
	wide := known("main.wide")
	for _, l := range said {
		if l.what != "member" {
			continue
		}
		at, typ := l.args[0], l.args[2]
		switch {
		case typ == "main.wide":
			if _, ok := wide[at]; !ok {
				t.Errorf("%v: main.wide are %v", l.args, wide)
			}
		case !symbols:
		case typ == "main.node":
			nodes := known(typ)
			if how, ok := nodes[at]; !ok || how == "" || len(nodes) != 12 {
				t.Errorf("%v: main.node are %v", l.args, nodes)
			}
		}
	}
	return all
}
