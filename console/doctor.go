package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/symbols"
)

// infoSymbols is `info symbols`; with an address it is `info symbol`.
func infoSymbols(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw != "" {
		return data.InfoSymbol(ctx, c, in)
	}
	check, err := c.Session.Symbols.Checkup()
	if err != nil {
		return err
	}
	c.ShowCareful(in, viewCheckup(&check), check.Gaps, func(o *screen.Output) { printCheckup(o, &check) })
	return nil
}

type attemptView struct {
	Path string `json:"path"`
	Why  string `json:"why,omitempty"` // "" for the file that is used
}

type diagnosisView struct {
	Module    string        `json:"module"`
	Path      string        `json:"path,omitempty"`
	BuildID   string        `json:"build_id,omitempty"`
	Frames    uint64        `json:"frame_count"`
	Lines     uint64        `json:"frames_with_lines"`
	Share     float64       `json:"share"` // of all recorded frames, 0 to 1
	Found     string        `json:"found"`
	DebugFile string        `json:"debug_file,omitempty"`
	DwzFile   string        `json:"dwz_file,omitempty"`
	Problem   string        `json:"problem,omitempty"`
	Good      bool          `json:"good"`
	Looked    []attemptView `json:"looked_at,omitempty"`
	Remedies  []string      `json:"remedies,omitempty"`
}

type checkupView struct {
	Events  int             `json:"event_count"`
	Frames  uint64          `json:"frame_count"`
	Unnamed uint64          `json:"jit_frames_without_name,omitempty"` // of frames, in code that is in no file
	Good    bool            `json:"good"`
	Problem string          `json:"problem,omitempty"`
	Modules []diagnosisView `json:"modules"`
}

func viewCheckup(check *names.Checkup) checkupView {
	v := checkupView{Events: check.Events, Frames: check.Frames, Unnamed: check.Nameless, Good: check.Good(), Problem: check.Problem, Modules: []diagnosisView{}}
	for i := range check.Modules {
		d := &check.Modules[i]
		m := diagnosisView{
			Module: d.Name, Path: d.Path, BuildID: d.Info.BuildID, Frames: d.Frames, Lines: d.Lines, Found: d.Found(),
			DebugFile: d.DebugFile, DwzFile: d.AltFile, Problem: d.Why(), Good: d.Good(),
		}
		for _, r := range d.Remedies {
			m.Remedies = append(m.Remedies, remedyText(d, r))
		}
		if check.Frames > 0 {
			m.Share = float64(d.Frames) / float64(check.Frames)
		}
		for _, a := range d.Attempts {
			m.Looked = append(m.Looked, attemptView{a.Path, a.Why})
		}
		v.Modules = append(v.Modules, m)
	}
	return v
}

// maxLooked bounds the places that are printed for one module; --json has all.
const maxLooked = 6

func printCheckup(o *screen.Output, check *names.Checkup) {
	columns := []screen.Column{{Head: "module"}, {Head: "frames", Right: true}, {Head: "names from"}, {Head: "file"}}
	if check.Frames == 0 {
		columns = append(columns[:1], columns[2:]...)
	}
	var rows [][]screen.Span
	for i := range check.Modules {
		d := &check.Modules[i]
		found := screen.Plain(d.Found())
		if !d.Good() && check.Matters(d) {
			found = screen.Warning(d.Found())
		}
		row := []screen.Span{screen.Head(d.ShortName())}
		if check.Frames > 0 {
			row = append(row, screen.Plain(units.Percent(d.Frames, check.Frames)))
		}
		from := d.DebugFile
		if from == "" && d.Err == nil {
			from = d.Path
		}
		rows = append(rows, append(row, found, screen.File(screen.ShortPath(from))))
	}
	o.Table(columns, rows)
	for i := range check.Modules {
		if d := &check.Modules[i]; !d.Good() && check.Matters(d) {
			printAdvice(o, d)
		}
	}
	if check.LacksJITNames() {
		o.Printf("\n")
		o.Line(screen.Warning(fmt.Sprintf("%s of the frames are in code that is in no file and has no name, as a JIT compiler makes it", units.Percent(check.Nameless, check.Frames))))
		advice(o, "to name it", "have the runtime write a map for perf, /tmp/perf-PID.map, or tell debuggers by gdb's JIT interface, while it is recorded: "+jitAdvice(check))
	}
	if check.Problem != "" {
		o.Printf("libraries %s\n", check.Problem)
	}
	switch {
	case check.Good() && check.Problem == "":
		o.Printf("nothing is missing\n")
	case check.Frames == 0:
		o.Line(screen.Guess("(no events are recorded, so which of these modules matter is unknown)"))
	}
}

// jitAdvice is how runtimes are made to name their code: the runtime of the program, if it is known, or some.
func jitAdvice(check *names.Checkup) string {
	runtimes := []struct{ begin, how string }{
		{"node", "node --perf-basic-prof"}, {"nodejs", "node --perf-basic-prof"},
		{"libnode.", "node --perf-basic-prof"},
		{"libjvm.", "java -XX:+DumpPerfMapAtExit, or jcmd PID Compiler.perfmap"},
		{"libcoreclr.", "DOTNET_PerfMapEnabled=1"},
		{"beam.smp", "erl +JPperf true"},
	}
	var all []string
	for _, r := range runtimes {
		if slices.ContainsFunc(check.Modules, func(d names.Diagnosis) bool {
			return d.ShortName() == r.begin || strings.HasSuffix(r.begin, ".") && strings.HasPrefix(d.ShortName(), r.begin)
		}) {
			return r.how
		}
		if !slices.Contains(all, r.how) {
			all = append(all, r.how)
		}
	}
	return strings.Join(all[:3], "; ")
}

// printAdvice says of a module where was looked, what was wrong, and what would help.
func printAdvice(o *screen.Output, d *names.Diagnosis) {
	o.Printf("\n")
	o.Line(screen.Head(d.Name), screen.Plain(": "+d.Found()))
	label := "looked at"
	for i, a := range d.Attempts {
		if i == maxLooked {
			advice(o, "", fmt.Sprintf("... and %s (--json has all)", units.Count(len(d.Attempts)-i, "more place")))
			break
		}
		text := a.Path
		if a.Why != "" {
			text += ": " + strings.TrimPrefix(a.Why, a.Path+": ")
		}
		advice(o, label, text)
		label = ""
	}
	if why := d.Why(); why != "" && !alreadySaid(d, why) {
		advice(o, "problem", why)
	}
	label = "remedy"
	for _, r := range d.Remedies {
		advice(o, label, remedyText(d, r))
		label = "or"
	}
}

// remedyText says what would bring names to a module.
func remedyText(d *names.Diagnosis, r names.Remedy) string {
	switch r.Kind {
	case names.FindBuild:
		return "get the file of that build, then symbols refresh"
	case names.FindFile:
		return fmt.Sprintf("get the file with build ID %s: put it next to the capture, or set sysroot", r.BuildID)
	case names.MakeReadable:
		return "make the file readable, be root, or set sysroot"
	case names.KeepDwo:
		return fmt.Sprintf("keep the .dwo files where the compiler wrote them (%s), or put them together: dwp -e %s -o %s.dwp", r.What, d.Path, d.Path)
	case names.RestoreDwz:
		return fmt.Sprintf("put %s back (build ID %s): dwz -m moved there what several files share", r.What, r.BuildID)
	case names.Install:
		if r.Archive != "" {
			return fmt.Sprintf("%s (it is in: %s)", r.What, r.Archive)
		}
		return r.What
	case names.InstallSymbols:
		return "install the debug symbols of package " + r.What
	case names.NameServer:
		return fmt.Sprintf("export DEBUGINFOD_URLS=%s before hdb begins, and set debuginfod on", r.What)
	case names.AskServer:
		return fmt.Sprintf("set debuginfod on, or hdb doctor --debuginfod (%s)", r.What)
	case names.SetDebugDirs:
		return "set debug-file-directory to where its debug file is"
	case names.CompileWithDebug:
		return "compile it with -g"
	case names.CompileUnstripped:
		return "compile it with -g, and do not strip it (gcc -s, strip, install -s)"
	case names.BuildGoWithDebug:
		return "build it without -ldflags=-s or -w"
	case names.BuildRustWithDebug:
		return "build it with debug = true in [profile.release] of Cargo.toml, and strip = false"
	case names.LinkBuildID:
		return "link it with -Wl,--build-id, so that separate debug files can be found"
	}
	return ""
}

// alreadySaid reports whether the places that were printed say so already.
func alreadySaid(d *names.Diagnosis, why string) bool {
	return slices.ContainsFunc(d.Attempts[:min(len(d.Attempts), maxLooked)], func(a symbols.Attempt) bool { return a.Why != "" && strings.HasSuffix(why, a.Why) })
}

func advice(o *screen.Output, label, text string) {
	o.Line(screen.Guess(fmt.Sprintf("  %-10s ", label)), screen.Plain(text))
}
