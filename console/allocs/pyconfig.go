package allocs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/session/cpython"
)

func pythonConfigCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{Name: "config", Short: "show how CPython was built and started", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonConfig),
		Long: "It shows the version and build, the allocators of each domain, executable, arguments, sys.path and the flags that are set. Everything is read from memory; nothing runs in the process. Allocator functions have names if the file has symbols.\n\nExample:\n  py config"}
}

type pythonLayerView struct {
	Kind     string `json:"kind"`
	Function string `json:"function"`
}

type pythonDomainView struct {
	Domain string            `json:"domain"`
	Layers []pythonLayerView `json:"layers"`
}

type pythonConfigView struct {
	Version      string             `json:"version"`
	Path         string             `json:"path"`
	Full         string             `json:"full_version,omitempty"`
	Executable   string             `json:"executable,omitempty"`
	Prefix       string             `json:"prefix,omitempty"`
	BasePrefix   string             `json:"base_prefix,omitempty"`
	Argv         []string           `json:"argv,omitempty"`
	OrigArgv     []string           `json:"original_argv,omitempty"`
	SysPath      []string           `json:"sys_path,omitempty"`
	Flags        map[string]string  `json:"flags,omitempty"`
	Interpreters int                `json:"interpreter_count"`
	Build        []string           `json:"build"` // Py_DEBUG, WITH_PYMALLOC ...: what is set
	GIL          bool               `json:"gil"`
	RefTotal     *int64             `json:"references,omitempty"`
	Allocator    string             `json:"allocator,omitempty"`
	Domains      []pythonDomainView `json:"domains,omitempty"`
	Missing      []string           `json:"missing,omitempty"`
}

func viewPythonConfig(c cpython.Config) pythonConfigView {
	v := pythonConfigView{Version: c.Version, Path: c.Runtime.Path, Full: c.Full, Executable: c.Executable, Prefix: c.Prefix, BasePrefix: c.BasePrefix,
		Argv: c.Argv, OrigArgv: c.OrigArgv, SysPath: c.Path, Interpreters: c.Interpreters, Build: []string{}, GIL: true, Allocator: c.Allocator, Missing: c.Missing}
	for _, b := range []struct {
		name string
		set  bool
	}{{"Py_DEBUG", c.Debug}, {"Py_REF_DEBUG", c.RefDebug}, {"Py_TRACE_REFS", c.TraceRefs}, {"COUNT_ALLOCS", c.Counts}, {"WITH_PYMALLOC", c.Pymalloc}} {
		if b.set {
			v.Build = append(v.Build, b.name)
		}
	}
	if len(c.Flags) > 0 {
		v.Flags = map[string]string{}
	}
	for _, f := range c.Flags {
		v.Flags[f.Name] = f.Value
	}
	if c.HasRefTotal {
		v.RefTotal = &c.RefTotal
	}
	for _, d := range c.Domains {
		x := pythonDomainView{Domain: d.Name, Layers: []pythonLayerView{}}
		for _, l := range d.Layers {
			x.Layers = append(x.Layers, pythonLayerView{l.Kind, l.Function})
		}
		v.Domains = append(v.Domains, x)
	}
	return v
}

func runPythonConfig(_ context.Context, c *desk.Desk, in shell.Input) error {
	all, err := c.Session.PythonHeaps.Configs()
	if len(all) == 0 {
		return fmt.Errorf("py config: %w", err)
	}
	if err != nil {
		c.Say("(%v)", err)
	}
	views := []pythonConfigView{}
	for _, x := range all {
		views = append(views, viewPythonConfig(x))
	}
	c.Show(in, struct {
		Interpreters []pythonConfigView `json:"interpreters"`
	}{views}, func(o *screen.Output) {
		for i, v := range views {
			if i > 0 {
				o.Line()
			}
			printPythonConfig(o, v, all[i])
		}
	})
	return nil
}

func printPythonConfig(o *screen.Output, v pythonConfigView, c cpython.Config) {
	title := v.Full
	if title == "" {
		title = v.Version
	}
	o.Line(screen.Plain("CPython " + strings.ReplaceAll(title, "\n", "")))
	var rows [][]screen.Span
	row := func(name, text string) {
		if text != "" {
			rows = append(rows, []screen.Span{screen.Plain(name), screen.Plain(text)})
		}
	}
	row("file", v.Path)
	row("executable", v.Executable)
	row("prefix", v.Prefix)
	if v.BasePrefix != v.Prefix {
		row("base prefix", v.BasePrefix)
	}
	row("arguments", quotedWords(v.Argv))
	row("started as", quotedWords(v.OrigArgv))
	for i, p := range v.SysPath {
		name := ""
		if i == 0 {
			name = "sys.path"
		}
		rows = append(rows, []screen.Span{screen.Plain(name), screen.Plain(strconv.Quote(p))})
	}
	row("build", strings.Join(append(v.Build, "with the global interpreter lock"), ", "))
	if v.Interpreters > 1 {
		row("interpreters", units.Grouped(v.Interpreters))
	}
	if v.RefTotal != nil {
		row("references", units.Grouped(*v.RefTotal)+" to objects, as Py_REF_DEBUG counts them")
	}
	row("flags", setFlags(c))
	for _, d := range v.Domains {
		var layers []string
		for _, l := range d.Layers {
			layers = append(layers, l.Kind+" ("+l.Function+")")
		}
		row("domain "+d.Domain, strings.Join(layers, ", over "))
	}
	o.Table([]screen.Column{{}, {}}, rows)
	for _, m := range v.Missing {
		o.Line(screen.Guess("! " + m))
	}
}

// setFlags are the flags that are neither 0 nor False.
func setFlags(c cpython.Config) string {
	var set []string
	for _, f := range c.Flags {
		if f.Value != "0" && f.Value != "False" {
			set = append(set, f.Name+"="+f.Value)
		}
	}
	if len(set) == 0 && len(c.Flags) > 0 {
		return "none is set"
	}
	return strings.Join(set, " ")
}

func quotedWords(words []string) string {
	var all []string
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\"'\\") {
			w = strconv.Quote(w)
		}
		all = append(all, w)
	}
	return strings.Join(all, " ")
}
