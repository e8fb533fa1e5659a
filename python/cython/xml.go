package cython

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a description.
const (
	MaxFile      = 64 << 20 // bytes of a file
	maxName      = 4096
	maxEntries   = 1 << 18 // functions, and variables of all of them
	maxCLine     = 1 << 20
	maxXMLDepths = 16
)

// A Module is what `cython --gdb` says of a module.
type Module struct {
	Name      string // package.module
	File      string // its source
	CFile     string // what was made of it
	Functions []Function
	Globals   []Variable
	Lines     Lines // of the source, by those of C
}

// A Function of the source. One that is called in several ways is there several times.
type Function struct {
	Name      string // without module and class
	CName     string // of C: of a def function the one that takes the arguments
	PyCName   string // of a cpdef function the one that Python calls
	Qualified string // module.class.function; "" of the module's statements
	Line      int    // of its def
	Locals    []Variable
	Arguments []string
	Enters    []string // functions of C that it calls by name, of its own module or others
	Init      bool     // the statements of the module
}

// A Variable of the source.
type Variable struct {
	Name      string
	CName     string // in C, an expression if it is in a closure: __pyx_cur_scope->__pyx_v_n
	Qualified string
	Object    bool // a PyObject *
	Line      int  // of its declaration or first assignment; 0 of what the module has anyway
}

// Read reads the description of a module, cython_debug_info_MODULE, as Cython 0.29 and 3
// write it.
func Read(text []byte) (*Module, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("a description of more than %d MiB", MaxFile>>20)
	}
	r := &reader{dec: xml.NewDecoder(bytes.NewReader(text))}
	for {
		tok, err := r.dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			if r.m == nil || r.depth != 0 {
				return nil, errors.New("no module of Cython")
			}
			r.m.Lines.joined()
			return r.m, nil
		case err != nil:
			return nil, fmt.Errorf("not XML: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if err := r.start(t); err != nil {
				return nil, err
			}
		case xml.EndElement:
			r.end()
		}
	}
}

type reader struct {
	dec     *xml.Decoder
	m       *Module
	path    [maxXMLDepths]string
	depth   int
	entries int
}

func (r *reader) in(name string, up int) bool {
	return r.depth > up && r.path[r.depth-1-up] == name
}

// start handles an element; what is not known is passed over.
func (r *reader) start(e xml.StartElement) error {
	if r.depth >= maxXMLDepths {
		return errors.New("elements in more elements than a description has")
	}
	defer func() {
		r.path[r.depth] = e.Name.Local
		r.depth++
	}()
	a := attributes(e)
	if r.entries++; r.entries > maxEntries*2 {
		return errors.New("more entries than hdb reads")
	}
	switch name := e.Name.Local; {
	case r.depth == 0 && name != "cython_debug":
		return fmt.Errorf("<%s> is not a function of Cython", printable(name))
	case name == "Module" && r.m == nil:
		r.m = &Module{Name: a["module_name"], File: a["filename"], CFile: a["c_filename"]}
		r.m.Lines.files = []string{r.m.File}
		if r.m.Name == "" || r.m.File == "" {
			return errors.New("a module without a name or a file")
		}
	case r.m == nil:
	case name == "Function" && r.in("Functions", 0):
		r.m.Functions = append(r.m.Functions, Function{
			Name: a["name"], CName: a["cname"], PyCName: a["pf_cname"], Qualified: a["qualified_name"], Line: number(a["lineno"]),
			Init: a["is_initmodule_function"] == "True",
		})
	case name == "LineNumber" && r.in("LineNumberMapping", 0):
		return r.lines(a)
	case name == "LocalVar" && r.in("Globals", 0):
		r.m.Globals = append(r.m.Globals, variable(a))
	case len(r.m.Functions) == 0:
	default:
		f := &r.m.Functions[len(r.m.Functions)-1]
		switch {
		case name == "LocalVar" && r.in("Locals", 0):
			f.Locals = append(f.Locals, variable(a))
		case name == "StepIntoFunction" && r.in("StepIntoFunctions", 0):
			f.Enters = append(f.Enters, a["name"])
		case r.in("Arguments", 0):
			f.Arguments = append(f.Arguments, printable(name))
		}
	}
	return nil
}

func (r *reader) end() { r.depth = max(r.depth-1, 0) }

// lines reads the lines of C of one line of the source. Cython 3 says of which file.
func (r *reader) lines(a map[string]string) error {
	line, file := number(a["cython_lineno"]), r.m.File
	if n, ok := a["src_lineno"]; ok {
		line = number(n)
	}
	if p := a["src_path"]; p != "" {
		file = p
	}
	for word := range strings.FieldsSeq(a["c_linenos"]) {
		if c := number(word); c > 0 && line > 0 {
			if !r.m.Lines.set(c, file, line) {
				return errors.New("more lines than hdb reads")
			}
		}
	}
	return nil
}

func variable(a map[string]string) Variable {
	return Variable{Name: a["name"], CName: a["cname"], Qualified: a["qualified_name"], Object: a["type"] == "PythonObject", Line: number(a["lineno"])}
}

// attributes of an element; those that cannot be names have no value.
func attributes(e xml.StartElement) map[string]string {
	a := make(map[string]string, len(e.Attr))
	for _, x := range e.Attr {
		if x.Name.Local == "c_linenos" {
			a[x.Name.Local] = x.Value
			continue
		}
		a[x.Name.Local] = printable(x.Value)
	}
	return a
}

// printable is the text if it is one that a name can be, else "".
func printable(s string) string {
	if len(s) > maxName || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return s
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}
