package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An owned is a block of a program, known by its size, and the function that it
// belongs to.
type owned struct {
	size     uint64
	text     string // the size as hdb prints it
	function string // how its name begins
}

// ownedPrograms are programs with their blocks, and what else of caller() and func() holds.
var ownedPrograms = []struct {
	name   string
	blocks []owned
	live   bool // the blocks are until the end
	none   []string
	onPath map[string]uint64 // functions on the stack of the block of that size
}{
	{
		name: "owners", live: true,
		blocks: []owned{
			{67947724, "64.8 MiB", "reserve_arena"},
			{830000, "810.5 KiB", "libowners.so+0x"},
			{720000, "703.1 KiB", "load_table()"},
			{524288, "512.0 KiB", "fill(std::vector<int"},
			{310000, "302.7 KiB", "make_page()"},
		},
		none:   []string{"make_unique", "std::make_unique", "xmalloc", "malloc"},
		onPath: map[string]uint64{"make_unique": 310000, "push_back": 524288, "xmalloc": 720000, "reserve_arena": 67947724},
	},
	{
		name: "rust",
		blocks: []owned{
			{3145728, "3.0 MiB", "rust::main"},
			{8192, "8.0 KiB", "rust::collect_all"},
			{500, "500 B", "rust::Table::fill"},
		},
		none:   []string{"alloc::*", "std::*", "hashbrown::*"},
		onPath: map[string]uint64{"rust::main": 3145728},
	},
}

// ownerViews are the commands that say which function a block belongs to. Those of what is
// live have every block; in a program that frees its blocks only the others do.
var ownerViews = []struct {
	command string
	live    bool // of live blocks
	next    bool // the function is in the line after the one with the size
	some    bool // not every block has a line
}{
	{command: "allocs all if kind != mmap && kind != free && kind != \"operator delete\""},
	{command: "live all", live: true},
	{command: "top 40", live: true},
	{command: "top 40 per line", live: true},
	{command: "leaks 40 --all", live: true, next: true},
	{command: "summary", live: true, some: true},
	{command: "stats", live: true, some: true},
	{command: "tree --inverted --min 0", live: true},
	{command: "table", live: true},
	{command: "diff start end", live: true},
}

// Every view names the same function for a block, in text and in JSON, of a process and of
// a capture, and so does caller().
func TestOwners(t *testing.T) {
	for _, p := range ownedPrograms {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			path := Build(t, p.name)
			dir := t.TempDir()
			var views, commands []string
			for _, v := range ownerViews {
				if p.live || !v.live {
					views = append(views, v.command)
				}
			}
			commands = append(commands, views...)
			for _, b := range p.blocks {
				name, _, _ := strings.Cut(b.function, "(")
				if !strings.Contains(name, "+0x") {
					commands = append(commands, callerCommand(name))
				}
			}
			for _, name := range p.none {
				commands = append(commands, callerCommand(name))
			}
			for name := range p.onPath {
				commands = append(commands, funcCommand(name))
			}
			for _, json := range []bool{false, true} {
				file := filepath.Join(dir, fmt.Sprintf("json-%v.hdb", json))
				live := []string{"record start", "run"}
				if p.live { // reports of a process want one
					live = []string{"record start", "break finish", "run"}
				}
				live = append(live, commands...)
				for _, side := range []struct {
					name string
					args []string
					in   []string
				}{
					{"process", []string{path}, append(live, "save "+file)},
					{"capture", []string{"open", file}, commands},
				} {
					answers := ask(t, json, side.args, side.in)
					for _, v := range ownerViews {
						if !slices.Contains(views, v.command) {
							continue
						}
						for _, b := range p.blocks {
							got := b.functionsIn(t, answers[v.command], json, v.next)
							if len(got) == 0 && !v.some || slices.ContainsFunc(got, func(f string) bool { return !strings.HasPrefix(f, b.function) }) {
								t.Errorf("%s, JSON %v, %s: the block of %d bytes belongs to %q, want %s\n%s", side.name, json, v.command, b.size, got, b.function, answers[v.command])
							}
						}
					}
					for _, b := range p.blocks {
						name, _, _ := strings.Cut(b.function, "(")
						if answer, asked := answers[callerCommand(name)]; asked && len(b.functionsIn(t, answer, json, false)) == 0 {
							t.Errorf("%s, JSON %v: caller(%q) is not true of the block of %d bytes\n%s", side.name, json, name, b.size, answer)
						}
					}
					for _, name := range p.none {
						for _, b := range p.blocks {
							if answer := answers[callerCommand(name)]; len(b.functionsIn(t, answer, json, false)) > 0 {
								t.Errorf("%s, JSON %v: caller(%q) is true of the block of %d bytes\n%s", side.name, json, name, b.size, answer)
							}
						}
					}
					for _, b := range p.blocks {
						if got := b.exported(t, file); !strings.HasPrefix(got, b.function) {
							t.Errorf("export: the block of %d bytes belongs to %q, want %s", b.size, got, b.function)
						}
					}
					for name, size := range p.onPath {
						i := slices.IndexFunc(p.blocks, func(b owned) bool { return b.size == size })
						if answer := answers[funcCommand(name)]; len(p.blocks[i].functionsIn(t, answer, json, false)) == 0 {
							t.Errorf("%s, JSON %v: func(%q) is not true of the block of %d bytes\n%s", side.name, json, name, size, answer)
						}
					}
				}
			}
		})
	}
}

// A stop at an allocation that caller() asks for selects the frame of that function, with
// the condition decided by the probe and by plain breakpoints, and so does a recording that
// it filters.
func TestOwnerOfStop(t *testing.T) {
	path := Build(t, "owners")
	for _, probe := range []string{"auto", "off"} {
		for _, b := range ownedPrograms[0].blocks {
			name, _, _ := strings.Cut(b.function, "(")
			if strings.Contains(name, "+0x") {
				continue
			}
			t.Run(probe+"/"+name, func(t *testing.T) {
				t.Parallel()
				condition := fmt.Sprintf("caller(%q) && size >= 300000", name)
				in := []string{"set probe " + probe, "break alloc if " + condition, "run", "frame", "bt 8", "continue", "delete", "record start", "record filter " + condition, "restart", "allocs all"}
				answers := ask(t, false, []string{path}, in)
				if frame := answers["frame"]; !strings.Contains(frame, "  "+name) {
					t.Errorf("selected is\n%s", frame)
				}
				marked := false
				for line := range strings.Lines(answers["bt 8"]) {
					number, rest, _ := strings.Cut(line, " ")
					if strings.HasSuffix(number, "*") {
						marked = strings.HasPrefix(strings.TrimSpace(rest), name)
					}
				}
				if !marked {
					t.Errorf("bt does not mark the frame of %s\n%s", name, answers["bt 8"])
				}
				if len(b.functionsIn(t, answers["allocs all"], false, false)) == 0 {
					t.Errorf("the filter kept\n%s", answers["allocs all"])
				}
			})
		}
	}
}

// The rule goes by settings: without the expressions the block belongs to whoever called
// the allocator.
func TestOwnerSettings(t *testing.T) {
	in := []string{"record start", "run", "set wrappers", "live all if size == 720000", "set library-frames", "live all if size == 310000",
		`live all if caller("make_unique")`, "set library-frames ^fill$|^std::", "live all if size == 524288", "show library-frames"}
	answers := ask(t, false, []string{Build(t, "owners")}, in)
	for command, want := range map[string]string{
		in[3]: "xmalloc(unsigned long)", in[5]: "std::make_unique<char []>(unsigned long)", in[6]: "302.7 KiB", in[8]: "fill(std::vector<int", in[9]: "^fill$|^std::",
	} {
		if !strings.Contains(answers[command], want) {
			t.Errorf("%s: no %s in\n%s", command, want, answers[command])
		}
	}
}

// A change of the rule holds for stops that are set, also for stacks that were judged.
func TestOwnerSettingsAtStops(t *testing.T) {
	in := []string{`break alloc if caller("xmalloc")`, "break merged", "run", "set wrappers", "continue", "set wrappers xmalloc", "c", "kill"}
	answers := ask(t, false, []string{Build(t, "wrapped")}, in)
	for command, want := range map[string]string{"run": "breakpoint 2, hit 1", "continue": "breakpoint 1, hit 1", "c": "breakpoint 2, hit 2"} {
		if !strings.Contains(answers[command], want) {
			t.Errorf("%s: no %s in\n%s", command, want, answers[command])
		}
	}
}

func callerCommand(name string) string { return fmt.Sprintf("allocs all if caller(%q)", name) }

func funcCommand(name string) string { return fmt.Sprintf("allocs all if func(%q)", name) }

// ask types commands to hdb and returns what each printed.
func ask(t *testing.T, json bool, args, commands []string) map[string]string {
	t.Helper()
	flags := []string{"-nx", "--echo"}
	if json {
		flags = append(flags, "--json")
	}
	cmd := exec.Command(HDB(t), append(flags, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.Discard
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	_, rest, _ := strings.Cut("\n"+out.String(), "\n(hdb) ")
	for part := range strings.SplitSeq(rest, "\n(hdb) ") {
		command, answer, _ := strings.Cut(part, "\n")
		answers[command] = answer
	}
	for _, command := range commands {
		if _, ok := answers[command]; !ok {
			t.Fatalf("%s was not answered:\n%s", command, out.String())
		}
	}
	return answers
}

// functionsIn are the functions that an answer names for the block.
func (b owned) functionsIn(t *testing.T, answer string, isJSON, next bool) (found []string) {
	if isJSON {
		for line := range strings.Lines(answer) {
			var v any
			if !strings.HasPrefix(line, "{") {
				continue // the program's
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			b.walk(v, &found)
		}
		return found
	}
	lines := strings.Split(answer, "\n")
	for i, line := range lines {
		of := -1
		for _, text := range []string{b.text, strings.Replace(b.text, ".0 ", " ", 1)} { // in a sentence 512 KiB
			if at := strings.Index(" "+line, " "+text+" "); at >= 0 {
				of = at + len(text)
			}
		}
		if of < 0 || strings.Contains(line, " munmap(") || strings.Contains(line, " free(") ||
			strings.Contains(line, "█") || strings.HasPrefix(strings.TrimSpace(line), "0 B ") {
			continue // of another event, of a histogram, or what a function's callees allocated
		}
		if next {
			at := i + 1
			if at < len(lines) && strings.Contains(lines[at], " of allocators and libraries hidden") {
				at++
			}
			if at < len(lines) {
				_, name, _ := strings.Cut(lines[at], " ")
				found = append(found, strings.TrimSpace(name))
			}
			continue
		}
		if strings.Contains(line[min(of, len(line)):], "  "+b.function) || strings.Contains(line[min(of, len(line)):], "├ "+b.function) {
			found = append(found, b.function)
		} else if strings.Contains(line, "  ") && !strings.HasPrefix(strings.TrimSpace(line), "It") && !strings.HasPrefix(line, "live: ") && !strings.Contains(line, "allocated  ") {
			found = append(found, line)
		}
	}
	return found
}

// exported is the function of the innermost frame that is no library's in the export of a
// capture to other tools.
func (b owned) exported(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.Command(HDB(t), "export", "ndjson", "-o", "-", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	frames, stacks := map[int]string{}, map[int]string{}
	for line := range bytes.Lines(out) {
		var row struct {
			Type, Kind, Function string
			Frame, Stack         int
			Frames               []int
			Size                 uint64
			Library              bool
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch row.Type {
		case "frame":
			if !row.Library {
				frames[row.Frame] = row.Function
			}
		case "stack":
			for _, n := range row.Frames {
				if f, ok := frames[n]; ok {
					stacks[row.Stack] = f
					break
				}
			}
		case "event":
			if row.Size == b.size && row.Kind != "free" && row.Kind != "map" && row.Kind != "unmap" {
				return stacks[row.Stack]
			}
		}
	}
	return ""
}

// walk finds the rows of the block in an object.
func (b owned) walk(v any, found *[]string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			b.walk(e, found)
		}
	case map[string]any:
		function, named := v["function"].(string)
		if where, ok := v["where"].(string); ok {
			function = where
		}
		is := func(v map[string]any, keys ...string) bool {
			return slices.ContainsFunc(keys, func(key string) bool { n, ok := v[key].(float64); return ok && n == float64(b.size) })
		}
		of, nested := v["own"].(map[string]any)
		if named && function != "" && (is(v, "size", "live_bytes", "to_live_bytes") || nested && is(of, "live_bytes")) && v["kind"] != "free" && v["kind"] != "unmap" {
			*found = append(*found, function)
			return
		}
		if tree, ok := v["tree"].(map[string]any); ok {
			rows, _ := tree["children"].([]any)
			for _, row := range rows {
				if row, ok := row.(map[string]any); ok && is(row, "value") {
					*found = append(*found, row["function"].(string))
				}
			}
			return
		}
		for _, e := range v {
			b.walk(e, found)
		}
	}
}
