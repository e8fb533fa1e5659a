package cpython

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/pymalloc"
)

// A Config is how an interpreter was built and started.
type Config struct {
	Runtime
	Full                                string // sys.version; "" if it cannot be read
	Executable, Prefix, BasePrefix, ABI string // "" if they cannot be read
	Argv, OrigArgv, Path                []string
	Flags                               []python.Flag
	Interpreters                        int
	Debug, RefDebug, TraceRefs, Counts  bool  // Py_DEBUG, Py_REF_DEBUG, Py_TRACE_REFS, COUNT_ALLOCS
	Pymalloc                            bool  // WITH_PYMALLOC
	RefTotal                            int64 // references to objects that Py_REF_DEBUG counts, up to 3.11
	HasRefTotal                         bool
	Allocator                           string // as PYTHONMALLOC names it; "" if it is none of these
	Domains                             []Domain
	Missing                             []string // why something is not known
}

// A Domain is what serves one of the domains of memory.
type Domain struct {
	Name   string // raw, mem or obj
	Layers []Layer
}

// A Layer is a set of functions that allocate.
type Layer struct {
	Kind     string // malloc, pymalloc, mimalloc, debug hooks, tracemalloc, other
	Function string // that represents malloc, by its name or its address
}

// Configs are those of the interpreters of the process. An error that comes with them is about other files.
func (p Heaps) Configs() (all []Config, err error) {
	files, refused, err := p.Interpreters()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		all = append(all, p.config(f))
	}
	return all, refused
}

func (p Heaps) config(f File) Config {
	c := Config{Runtime: Runtime{f.In.Version(), f.Where}}
	miss := func(err error) {
		if err != nil {
			c.Missing = append(c.Missing, err.Error())
		}
	}
	rt, err := f.In.Runtime()
	miss(err)
	c.Interpreters = len(rt.Interpreters)
	var sys python.Sys
	err = errors.New("the interpreter has not been started, or has ended")
	for _, in := range rt.Interpreters {
		if in.ID == 0 {
			sys, err = python.SysOf(f.In, in.At)
		}
	}
	if err != nil {
		miss(err)
	} else {
		miss(c.fromSys(sys))
	}
	_, c.Pymalloc = f.Symbols("_PyObject_DebugMallocStats")
	if at, ok := f.Symbols("_Py_RefTotal"); ok {
		n, err := p.target.ReadPointer(at)
		miss(err)
		c.RefTotal, c.HasRefTotal = int64(n), err == nil
	}
	miss(p.allocators(&c, f))
	return c
}

// fromSys reads what the module sys tells.
func (c *Config) fromSys(sys python.Sys) (err error) {
	var errs [4]error
	c.Full, c.Executable, c.ABI = sys.Text("version"), sys.Text("executable"), sys.Text("abiflags")
	c.Prefix, c.BasePrefix = sys.Text("prefix"), sys.Text("base_prefix")
	c.Argv, errs[0] = sys.Texts("argv")
	c.OrigArgv, errs[1] = sys.Texts("orig_argv")
	c.Path, errs[2] = sys.Texts("path")
	c.Flags, errs[3] = sys.Flags()
	c.Debug = strings.Contains(c.ABI, "d")
	c.RefDebug, c.TraceRefs, c.Counts = sys.Has("gettotalrefcount"), sys.Has("getobjects"), sys.Has("getcounts")
	return errors.Join(errs[:]...)
}

// allocators reads what serves the domains.
func (p Heaps) allocators(c *Config, f File) error {
	domains, err := p.domains(f)
	if err != nil {
		return err
	}
	raw := domains[0].Innermost().Malloc
	_, heapErr := p.of(f)
	for _, d := range domains {
		x := Domain{Name: d.Name}
		for i, l := range d.Layers {
			name := p.functionAt(l.Malloc)
			y := Layer{Function: name}
			switch {
			case l.API != 0:
				y.Kind = "debug hooks"
			case i < len(d.Layers)-1 && strings.HasPrefix(name, "tracemalloc"):
				y.Kind = "tracemalloc"
			case i < len(d.Layers)-1:
				y.Kind = "other hooks"
			case l.Malloc == raw:
				y.Kind = "malloc"
			case strings.Contains(name, "MiMalloc"):
				y.Kind = "mimalloc"
			case heapErr == nil:
				y.Kind = "pymalloc"
			default:
				y.Kind = "other"
			}
			x.Layers = append(x.Layers, y)
		}
		c.Domains = append(c.Domains, x)
	}
	c.Allocator = allocatorName(c.Domains, domains[2])
	return nil
}

// allocatorName is what PYTHONMALLOC would name the allocator of objects, "" if it is none of these.
func allocatorName(all []Domain, obj pymalloc.Domain) string {
	layers := all[2].Layers
	name := layers[len(layers)-1].Kind
	if name == "other" {
		return ""
	}
	if obj.Debug() {
		name += "_debug"
	}
	return name
}

// functionAt is the name of a function, or where it is.
func (p Heaps) functionAt(at addr.Run) string {
	if info, err := p.target.Names.Symbols.At(at); err == nil && info.Offset == 0 {
		return info.Name
	}
	for _, m := range p.target.Names.Images() {
		if p.target.Names.Covers(m, at) {
			return fmt.Sprintf("%v in %s", at, m.Name)
		}
	}
	return at.String()
}
