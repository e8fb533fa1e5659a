package oracle

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/testprogs"
	"hdb/testprogs/real"
)

// loaded is where Linux puts position-independent programs without randomization.
const loaded = 0x555555554000

// Why debuggers differ.
const (
	throughPointer = "the call goes through a pointer, at which gdb 13 gives up; hdb asks the call site whether the pointer is this function"
	inlinedEntry   = "gdb 13 computes the DW_OP_fbreg of a call site for another frame when an inlined one needs it; the caller's variable tells who is right"
	notYet         = "it is not made yet, and its length is what the stack had: gdb takes one beyond 2^31 for 0"
	noPrinter      = "gdb's printers of libstdc++ 12 have none for it"
	warned         = "gdb warns between the lines that it does not find a class of LLVM's"
	endElement     = "gdb takes the head of the list for an element"
	random         = "it is, or is computed from, random bytes"
	lostLength     = "gdb takes a length that was optimized out for 0"
	traitName      = "gdb names an implementation of a trait by a number, hdb by the trait"
	unexplained    = "gdb has another node of the list than hdb after the same stops, and the same one when this is the only breakpoint: the cause is not known"
)

// byPointer is what only a caller through a pointer knows, and what is passed on of it.
var byPointer = map[string]string{"main argc": throughPointer, "main argv": throughPointer, "run argv": throughPointer, "run@entry argc": throughPointer, "run@entry argv": throughPointer}

// and adds entries to a map of reasons.
func and(m map[string]string, reason string, about ...string) map[string]string {
	m = maps.Clone(m)
	for _, a := range about {
		m[a] = reason
	}
	return m
}

// without is a map without a key.
func without(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// optimized are the programs whose variables are compared.
var optimized = []struct {
	name    string
	source  string            // in testdata; empty for a real program
	build   []string          // compiler and flags
	stops   int               // breakpoints; not all are hit
	short   bool              // in the small form
	differs map[string]string // why something, "FUNCTION VARIABLE" or else, is another
}{
	{name: "gcc mixed.c", source: "mixed.c", build: []string{"gcc", "-O2"}, stops: 120, short: true, differs: and(byPointer, inlinedEntry, "middle v")},
	{name: "gcc DWARF 4 mixed.c", source: "mixed.c", build: []string{"gcc", "-O2", "-gdwarf-4"}, stops: 60, differs: and(byPointer, inlinedEntry, "middle v", "innermost twice")},
	{name: "gcc LTO mixed.c", source: "mixed.c", build: []string{"gcc", "-O2", "-flto"}, stops: 60, differs: byPointer},
	{name: "clang mixed.c", source: "mixed.c", build: []string{"clang", "-O2"}, stops: 80, differs: map[string]string{"main argv": throughPointer}},
	{name: "g++ holders.cc", source: "holders.cc", build: []string{"g++", "-std=c++17", "-O2"}, stops: 120, differs: and(and(without(byPointer, "run argv"), noPrinter, "lambdas kept"), notYet, "throws text")},
	{name: "clang++ holders.cc", source: "holders.cc", build: []string{"clang++", "-std=c++17", "-O2"}, stops: 80, differs: and(map[string]string{"lambdas kept": noPrinter, "sequences __end1": endElement}, warned, "owners shared", "owners weak", "owners std::shared_ptr<shapes::Shape> (expired, weak count 0)", "owners std::weak_ptr<shapes::Shape> (expired, weak count 0)", "owners std::shared_ptr<shapes::Shape> (use count 1, weak count 1)", "owners std::weak_ptr<shapes::Shape> (use count 1, weak count 1)")},
	{name: "rustc owned.rs", source: "owned.rs", build: []string{"rustc", "-C", "opt-level=2"}, stops: 80, differs: map[string]string{"owned::boxes head": unexplained, "owned::slices numbers": lostLength, "frames": traitName}},
	{name: "sqlite3", stops: 150, differs: and(map[string]string{"main argv": throughPointer, "sqlite3VdbeSerialGet aFlag": "it is an entry of the abstract function alone, where gdb does not look"}, random, "chacha_block x", "main data", "sqlite3RunParser sEngine", "sqlite3_randomness N", "sqlite3_randomness pBuf", "sqlite3_randomness zBuf")},
}

// TestMoments compares hdb with gdb at stops of optimized programs: functions, files,
// lines, arguments, locals, entry values, and what functions return.
func TestMoments(t *testing.T) {
	for _, c := range optimized {
		if testing.Short() && !c.short {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var command testprogs.Command
			if c.source == "" {
				command = real.SQLite(t).Command
			} else {
				command = compiled(t, c.build, c.source)
			}
			if testing.Short() {
				c.stops = 24
			}
			plan := Plan{Command: command, Stops: places(t, command.Path, c.source, c.stops), Depth: 5}
			want := GDBMoments(t, plan)
			got := HDBMoments(t, plan, want)
			d := differences{rows: rows(t, command.Path), rust: strings.HasSuffix(c.source, ".rs"), found: map[string][]string{}}
			d.moments(want, got)
			d.report(t, c.differs)
			t.Logf("%d stops, %d frames, %d values, %d returned; %d not read by gdb, %d in overwritten registers", len(want), d.frames, d.values, d.returned, d.failed, d.overwritten)
		})
	}
}

// compiled is a program of testdata with debug information.
func compiled(t *testing.T, build []string, source string) testprogs.Command {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "optimized")
	cmd := exec.Command(build[0], append(build[1:], "-g", path, "-o", prog)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return testprogs.Command{Path: prog, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}, Dir: dir}
}

// A row is a place in the source that code belongs to.
type row struct {
	pc   uint64
	file string // without folders
	line int
}

var tableRow = regexp.MustCompile(`(?m)^(\S+)\s+([1-9]\d*)\s+0x([0-9a-f]+)`)

// rows are the rows of the line table for code that is linked, by their run-time addresses.
func rows(t *testing.T, prog string) []row {
	t.Helper()
	table, err := exec.Command("readelf", "-W", "--debug-dump=decodedline", prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	var all []row
	for _, m := range tableRow.FindAllStringSubmatch(string(table), -1) {
		pc, err := strconv.ParseUint(m[3], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if pc >= text.Addr && pc < text.Addr+text.Size {
			all = append(all, row{pc + bias(f), filepath.Base(m[1]), n})
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.pc, b.pc) })
	return all
}

// bias is where a program is loaded.
func bias(f *elf.File) uint64 {
	if f.Type == elf.ET_DYN {
		return loaded
	}
	return 0
}

// places draws breakpoints on rows of the line table, functions and lines.
func places(t *testing.T, prog, source string, n int) []Place {
	t.Helper()
	if source == "" {
		source = "sqlite3.c"
	}
	begin, lines := map[uint64]bool{}, map[string]bool{}
	for _, r := range rows(t, prog) {
		if r.file == source {
			begin[r.pc], lines[fmt.Sprint(source, ":", r.line)] = true, true
		}
	}
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var functions []string
	for _, s := range syms {
		// What throws does not finish.
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && begin[s.Value+bias(f)] && s.Name != "main" && !strings.Contains(s.Name, "throws") {
			functions = append(functions, fmt.Sprintf("*%#x", s.Value+bias(f)))
		}
	}
	slices.Sort(functions)
	pcs, named := slices.Sorted(maps.Keys(begin)), slices.Sorted(maps.Keys(lines))
	r := rand.New(rand.NewPCG(7, uint64(n)))
	var all []Place
	for i := range n {
		p := Place{Place: fmt.Sprintf("*%#x", pcs[r.IntN(len(pcs))])}
		if filepath.Ext(source) == ".c" {
			p.Ignore = max(r.IntN(5)-2, 0)
		}
		switch i % 6 {
		case 0, 1:
			p.Place, p.Finish = functions[r.IntN(len(functions))], true
		case 2:
			if filepath.Ext(source) != ".c" {
				break // gdb and hdb choose among parts of inlined calls in another way
			}
			p.Place = named[r.IntN(len(named))]
		case 3:
			p.Steps = 1 + r.IntN(3)
		}
		if !slices.ContainsFunc(all, func(q Place) bool { return q.Place == p.Place }) {
			all = append(all, p)
		}
	}
	return all
}

// differences collects what two debuggers say otherwise, by what it is about.
type differences struct {
	found                    map[string][]string
	rows                     []row
	rust                     bool
	frames, values, returned int
	failed, overwritten      int // values that gdb did not read, and that it may have read wrong
}

func (d *differences) add(about, at, gdb, hdb string) {
	d.found[about] = append(d.found[about], fmt.Sprintf("%s\n  gdb %s\n  hdb %s", at, gdb, hdb))
}

func (d *differences) moments(gdb, hdb []Moment) {
	if len(gdb) != len(hdb) {
		d.add("stops", "", fmt.Sprint(len(gdb)), fmt.Sprint(len(hdb)))
	}
	for i := range min(len(gdb), len(hdb)) {
		g, h := gdb[i], hdb[i]
		at := fmt.Sprintf("stop %d %s+%d", i, g.Place, g.Steps)
		if len(g.Frames) == 0 || len(h.Frames) == 0 || g.Frames[0].PC != h.Frames[0].PC {
			d.add("stops", at, fmt.Sprint(g.Frames), fmt.Sprint(h.Frames))
			return // one goes another way from here on
		}
		d.stack(at, g.Frames, h.Frames)
		if g.Finish {
			if d.returned++; g.Returned != h.Returned {
				d.add("returned "+g.Frames[0].Function, at, g.Returned, h.Returned)
			}
			if g.After != h.After {
				d.add("finish", at, fmt.Sprintf("%#x", g.After), fmt.Sprintf("%#x", h.After))
			}
		}
	}
}

func (d *differences) stack(at string, gdb, hdb []MomentFrame) {
	for i, g := range gdb {
		if g.Module != "" {
			continue
		}
		at := fmt.Sprintf("%s #%d %s:%d %#x", at, i, g.Function, g.Line, g.PC)
		for !g.Tail && i < len(hdb) && hdb[i].Tail && hdb[i].PC != g.PC {
			hdb = slices.Delete(slices.Clone(hdb), i, i+1) // gdb 13 deduces no jumps by DW_AT_call_pc
		}
		if i >= len(hdb) {
			d.add("frames", at, g.Function, "no frame")
			return
		}
		d.frames++
		h := hdb[i]
		if d.name(g) != d.name(h) || g.PC != h.PC || g.Inlined != h.Inlined || g.Tail != h.Tail {
			d.add("frames", at, fmt.Sprintf("%+v", g.Frame), fmt.Sprintf("%+v", h.Frame))
			return
		}
		if (file(g.File) != file(h.File) || g.Line != h.Line) && !d.lastRow(g, h, i > 0 && !gdb[i-1].Inlined) {
			d.add("line "+g.Function, at, fmt.Sprint(g.File, ":", g.Line), fmt.Sprint(h.File, ":", h.Line))
		}
		if g.Tail {
			continue // hdb does not look for arguments that left with a jump
		}
		d.variables(at, g, g.Function, sorted(g.Args), sorted(h.Args))
		d.variables(at, g, g.Function, g.Locals, h.Locals)
		d.variables(at, g, g.Function+"@entry", g.Entry, h.Entry)
	}
}

// name is the name of a frame's function. gdb names Rust's trait implementations by
// numbers, hdb by trait and type.
func (d *differences) name(f MomentFrame) string {
	name := plain(f.Function)
	switch {
	case d.rust && f.Inlined || strings.Contains(name, "operator[call]"): // closures, lambdas
		name = cutTemplate(name[strings.LastIndex(cutTemplate(name), ":")+1:])
		return strings.Trim(strings.TrimRight(name, "#0123456789}"), "{")
	case d.rust:
		name = name[strings.LastIndex(name, ":")+1:]
	}
	return cutTemplate(name)
}

// lastRow reports whether the frames' lines are two rows of one address, of which hdb
// takes the last, as addr2line does, and gdb the last that is recommended for stops.
func (d *differences) lastRow(gdb, hdb MomentFrame, isReturn bool) bool {
	pc := gdb.PC
	if isReturn {
		pc--
	}
	end, _ := slices.BinarySearchFunc(d.rows, pc+1, func(r row, pc uint64) int { return cmp.Compare(r.pc, pc) })
	if (hdb.Line-gdb.Line)%(1<<16) == 0 && gdb.Line < 1<<16 { // in which gdb keeps the lines of calls
		return true
	}
	if end == 0 || d.rows[end-1].file != filepath.Base(hdb.File) || d.rows[end-1].line != hdb.Line {
		return false
	}
	for i := end - 1; i >= 0 && d.rows[i].pc == d.rows[end-1].pc; i-- {
		if d.rows[i].file == filepath.Base(gdb.File) && d.rows[i].line == gdb.Line {
			return true
		}
	}
	return false
}

func (d *differences) variables(at string, frame MomentFrame, function string, gdb, hdb []Variable) {
	g, h := byName(gdb), byName(hdb)
	for name := range union(g, h) {
		d.values++
		gv, hv := g[name].Value, h[name].Value
		_, listed := g[name]
		_, has := h[name]
		switch {
		case gv == hv:
		case hv == "<optimized out>" && !listed:
			// hdb lists variables of blocks that gdb does not enter.
		case ofPack(g, h, name):
			// gdb 13 looks arguments up by name: all of a parameter pack have one's value.
		case !has && gv == "<optimized out>":
			// gdb lists labels, and variables of inlined functions again when their copies
			// stand in a block that is a copy of none.
		case strings.Contains(gv, "<error reading variable") || strings.Contains(gv, "Python Exception"):
			d.failed++ // in a value that is not one yet, or with operators that gdb does not know
		case strings.Contains(gv, "<incomplete sequence "):
			d.failed++ // gdb 13 drops the character before it
		case d.rust && libraryOfRust.MatchString(gv):
			d.failed++ // a struct of the library without rust-gdb's printers
		case gv == "<synthetic pointer>" && strings.HasPrefix(hv, gv+": "):
			// hdb shows what references refer to.
		case hv == "<synthetic pointer>" && strings.HasPrefix(gv, hv+": ") && strings.Contains(gv, "<optimized out>"):
			// It does not if that is nowhere.
		case referenced.ReplaceAllString(gv, "") == hv:
			// It looks through references to what has a printer.
		case strings.Contains(gv, "{") && strings.ReplaceAll(gv, "<synthetic pointer>", "<optimized out>") == hv:
			// gdb 13 calls pieces without a location so.
		case strings.HasSuffix(hv, `"...`) && strings.HasPrefix(gv, strings.TrimSuffix(hv, `"...`)):
			// hdb shows the beginning of texts in arguments.
		case strings.Contains(hv, "<optimized out>") && g[name].Overwritten:
			d.overwritten++ // gdb takes the register as the called function left it
		case hv == "<optimized out>" && strings.HasSuffix(function, "@entry"):
			d.overwritten++ // so it does in the expressions of call sites
		default:
			d.add(function+" "+name, at, gv, hv)
		}
	}
}

// ofPack reports whether several variables of a name have one value for gdb, which one of
// them has for hdb, or had.
func ofPack(gdb, hdb map[string]Variable, name string) bool {
	times, has := 0, false
	for n := strings.TrimRight(name, "'"); ; n += "'" {
		v, ok := gdb[n]
		if !ok {
			return has && times > 1
		}
		if v.Value == gdb[name].Value {
			times++
		}
		has = has || hdb[n].Value == gdb[name].Value || hdb[n].Value == "<optimized out>"
	}
}

var referenced = regexp.MustCompile(`^@0x[0-9a-f]+: `)

var libraryOfRust = regexp.MustCompile(`^&?(dyn|alloc::|std::)`)

func union(a, b map[string]Variable) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]Variable{a, b} {
		for n := range m {
			all[n] = true
		}
	}
	return all
}

// byName maps names to values; a name of several blocks has ticks.
func byName(list []Variable) map[string]Variable {
	m := map[string]Variable{}
	for _, v := range list {
		name := v.Name
		for _, again := m[name]; again; _, again = m[name] {
			name += "'"
		}
		m[name] = v
	}
	return m
}

// sorted sorts arguments, of which those of a parameter pack have one name, in another
// order.
func sorted(list []Variable) []Variable {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Variable) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	return list
}

// plain is a function's name without its parameters.
func plain(name string) string {
	depth := 0
	name = strings.TrimSuffix(strings.ReplaceAll(name, "operator()", "operator[call]"), "@plt")
	for i, c := range name {
		switch c {
		case '<', '{': // templates, closures
			depth++
		case '>', '}':
			depth--
		case '(':
			if depth == 0 && i > 0 && !strings.HasPrefix(name[i:], "(anonymous") {
				return name[:i]
			}
		}
	}
	return name
}

// cutTemplate is a name up to its template arguments. hdb writes no types of parameters
// in them.
func cutTemplate(name string) string {
	if i := strings.IndexByte(name, '<'); i > 0 {
		return name[:i]
	}
	return name
}

// file is a path without the way up with which some begin.
func file(path string) string {
	path = filepath.Clean(path)
	for strings.HasPrefix(path, "../") {
		path = path[3:]
	}
	return path
}

// report fails for each difference that is not known. What is known must differ in the
// full form, which has all stops.
func (d *differences) report(t *testing.T, known map[string]string) {
	t.Helper()
	for _, about := range slices.Sorted(maps.Keys(d.found)) {
		if all := d.found[about]; known[about] == "" {
			t.Errorf("%s: %d differences, as at %s", about, len(all), strings.Join(all[:min(len(all), 2)], "\n"))
		}
	}
	for about := range known {
		if d.found[about] == nil && known[about] != random && !testing.Short() {
			t.Errorf("%s does not differ any more", about)
		}
	}
}
