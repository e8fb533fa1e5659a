package console

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/console/shell"
	"hdb/testprogs/unsure"
)

// drawn are lines that print numbers drawn from a recording, by the full names of their
// commands. %d stands for a directory.
var drawn = map[string]string{
	"allocs": "allocs 3", "live": "live 3", "top": "top by bytes", "leaks": "leaks", "temporary": "temporary", "wrong-frees": "wrong-frees", "whence": "whence 0x10040", "what": "what 0x10040",
	"diff": "diff 10%", "stats": "stats", "summary": "summary", "tree": "tree", "timeline": "timeline", "table": "table",
	"flamegraph": "flamegraph %d/flame.html -f", "assert": "assert --max-allocs 1e9", "list": "list -cost prog.c:1", "goto": "goto peak", "history": "history 0x10040",
	"info symbols": "info symbols", "info capture": "info capture", "info allocs": "info allocs", "record status": "record status", "open": "open %d/this.hdb", "save": "save -f %d/copy.hdb",
	"export pprof": "export pprof %d/pprof -f", "export collapsed": "export collapsed %d/collapsed -f", "export speedscope": "export speedscope %d/speedscope -f",
	"export firefox": "export firefox %d/firefox -f", "export dhat": "export dhat %d/dhat -f", "export massif": "export massif %d/massif -f",
	"export ndjson": "export ndjson %d/ndjson -f", "export parquet": "export parquet %d/parquet -f", "export sarif": "export sarif %d/sarif -f",
}

// undrawn are the commands that print no such number, by what they are about instead:
// a process, source text, one event or moment as it was recorded, or hdb itself.
var undrawn = strings.Fields(`
	run start starti restart attach detach kill continue step next stepi nexti finish until advance interrupt wait jump return signal skip info.skip call
	break tbreak hbreak thbreak dprintf trace rbreak watch rwatch awatch delete clear clearall enable disable toggle catch tcatch uncatch condition ignore commands on handle
	record record.start record.stop record.pause record.resume record.filter alloc.list alloc.add
	next-alloc next-free prev-alloc prev-free reverse-continue mark
	bt frame up down thread faas taas tfaas threads inferior goroutines goroutine x vmmap disassemble directory print output printf find dump append restore ptype whatis locals args display undisplay search reverse-search
	file core-file gcore cd pwd symbols symbols.embed symbols.refresh
	info.breakpoints info.threads info.inferiors info.goroutines info.frame info.registers info.sharedlibrary info.sources info.source info.functions
	cy.bt cy.break cy.step cy.next cy.finish cy.up cy.down cy.list cy.locals cy.globals cy.print
	refs reach why
	py.bt py.stats py.arenas py.pools py.block py.check py.frame py.up py.down py.list py.print py.locals py.tasks py.types py.refs py.gc info.types info.variables info.line info.symbol info.address info.signals info.proc info.mappings info.program info.stops info.marks info.log info.all-registers info.auxv info.watchpoints info.scope
	py.break py.tbreak py.config heap arenas bins chunk fragmentation
	py.next py.step py.finish py.until gc
	info.debuginfod info.vtbl info.macro info.macros macro.expand info.locals info.args info.display breakpoints libraries sources funcs regs
	tui tui.enable tui.disable focus refresh if while loop_break loop_continue help apropos complete source define document alias unalias shell pipe echo set unset show config with trust quit
	monitor`) // which needs a terminal, and has the caveats above its rows

// TestCaveatsOfAnotherCapture has diff say what both recordings lack.
func TestCaveatsOfAnotherCapture(t *testing.T) {
	all := unsure.Captures(t)
	st := newStage(t, nil)
	if err := st.Open(all[0].Path); err != nil {
		t.Fatal(err)
	}
	for _, other := range all[1:] {
		st.out.Reset()
		st.Top("diff " + other.Path)
		got := strings.Join(strings.Fields(st.out.String()), " ")
		if !strings.Contains(got, "! "+all[0].Says) || !strings.Contains(got, "! "+filepath.Base(other.Path)+": ") || !strings.Contains(got, other.Says) {
			t.Errorf("diff of the capture with %s and the one with %s:\n%s%s", all[0].Name, other.Name, &st.out, &st.err)
		}
	}
	st.Finish()
}

// TestCaveatsOfCommands has each command that prints a number drawn from a recording
// say what makes it less sure, in text and as JSON. A new command has to be in one of
// the lists.
func TestCaveatsOfCommands(t *testing.T) {
	commandTable(nil).Each(func(full string, cmd *shell.Command) {
		_, draws := drawn[full]
		if not := slices.Contains(undrawn, strings.ReplaceAll(full, " ", ".")); cmd.Run != nil && draws == not {
			t.Errorf("%s: does it print numbers drawn from a recording? %v, %v", full, draws, not)
		}
	})
	for _, c := range unsure.Captures(t) {
		for _, json := range []bool{false, true} {
			dir := t.TempDir()
			b, err := os.ReadFile(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "this.hdb")
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			st := newStage(t, func(cfg *Config) { cfg.JSON, cfg.Batch = json, true })
			if err := st.Open(path); err != nil {
				t.Fatal(err)
			}
			for _, full := range slices.Sorted(maps.Keys(drawn)) {
				st.out.Reset()
				st.err.Reset()
				st.Top(strings.ReplaceAll(drawn[full], "%d", dir))
				got := strings.Join(strings.Fields(st.out.String()), " ")
				got = strings.ReplaceAll(got, `\u003e`, ">")
				if slices.Contains([]string{"record status", "info allocs", "info capture", "stats"}, full) { // which have a row and a field
					got = strings.NewReplacer(`"lost":1234`, c.Says, `"lost_events":1234`, c.Says, "lost 1,234 calls", c.Says, "lost: 1,234 calls", c.Says).Replace(got)
				}
				if !strings.Contains(got, c.Says) {
					t.Errorf("%s, JSON %v: `%s` does not say %q:\n%s%s", c.Name, json, drawn[full], c.Says, &st.out, &st.err)
				}
			}
			st.Finish()
		}
	}
}
