package cython

import (
	"slices"
	"strconv"
	"strings"

	"hdb/internal/lazyregexp"
)

// Kind says what a generated C function is to the source.
type Kind uint8

// The kinds of functions. Those that call one another for the same function of the source
// are in this order.
const (
	Machinery Kind = iota // Cython's own, or made for a class: no function of the source
	Wrapper               // __pyx_pw_: takes the arguments of a call from Python
	Body                  // __pyx_pf_: what the function does; of a cpdef function it calls C's
	CFunction             // __pyx_f_: of cdef and cpdef
	Generator             // __pyx_gb_: what a generator or coroutine does
	Toplevel              // __pyx_pymod_exec_: the statements of a module
)

// A Symbol is what the name of a generated C function tells.
type Symbol struct {
	Kind  Kind
	Name  string // module.class.function; of machinery as in C
	Guess bool   // the C name could be another function's, too, or has only a part of the name
}

var (
	suffix = lazyregexp.New(`(\.(cold|constprop|isra|part|lto_priv)(\.\d+)*)+$`) // of gcc's copies
	fused  = lazyregexp.New(`^__pyx_fuse_\d+(_\d+)*`)
	own    = lazyregexp.New(`^(__reduce_cython__|__setstate_cython__|__pyx_unpickle_.*)$`)
)

var kinds = []struct {
	prefix string
	kind   Kind
}{
	{"__pyx_pw_", Wrapper}, {"__pyx_pf_", Body}, {"__pyx_f_", CFunction}, {"__pyx_gb_", Generator},
	{"__pyx_pymod_exec_", Toplevel}, {"__pyx_lambda_funcdef_", Wrapper},
}

// IsGenerated tells the name of a C function that Cython has made, by its prefix.
func IsGenerated(linkage string) bool {
	return strings.HasPrefix(linkage, "__pyx_") || strings.HasPrefix(linkage, "__Pyx_")
}

// Parse reads the name of a C function; false if Cython has not made it. The modules are
// those that the file is known to have, by the last words of their names: PyInit_ functions
// tell.
func Parse(linkage string, modules ...string) (Symbol, bool) {
	if !IsGenerated(linkage) {
		return Symbol{}, false
	}
	c := linkage
	if i := strings.IndexByte(c, '.'); i >= 0 {
		c = suffix().ReplaceAllString(c, "")
	}
	c = fused().ReplaceAllString(c, "")
	for _, k := range kinds {
		rest, ok := strings.CutPrefix(c, k.prefix)
		switch {
		case !ok:
			continue
		case k.kind == Toplevel:
			return Symbol{Kind: Toplevel, Name: rest + ".<module>"}, true
		}
		s := Symbol{Kind: k.kind}
		last := ""
		if s.Name, last, s.Guess, ok = path(rest, modules); !ok || own().MatchString(last) || strings.HasPrefix(s.Name, "View.MemoryView.") {
			break
		}
		if k.kind == Generator {
			s.Name, s.Guess = strings.TrimSuffix(s.Name, last)+"<generator>", true
		}
		return s, true
	}
	return Symbol{Kind: Machinery, Name: linkage}, true
}

// path reads a mangled path: each scope is its length, its name and an underscore; the
// function, the last, may have a number before it.
func path(text string, modules []string) (name, last string, guess, ok bool) {
	var parts []string
	inModule := true
	for {
		digits := 0
		for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(text[:digits])
		after := text[digits:]
		if err != nil || n == 0 || n >= len(after)-1 || after[n] != '_' || strings.Trim(after[:n], "_") == "" {
			last = fused().ReplaceAllString(after, "")
			break
		}
		if len(parts) > 0 && !classLike(after[:n]) && !(inModule && slices.Contains(modules, after[:n])) {
			guess = true // or the number n before a function with an underscore at this place
		}
		inModule = inModule && !slices.Contains(modules, after[:n])
		parts = append(parts, after[:n])
		text = after[n+1:]
	}
	if len(parts) == 0 || last == "" {
		return "", "", false, false
	}
	return strings.ReplaceAll(strings.Join(append(parts, last), "."), "_dot_", "."), last, guess, true
}

// classLike tells a name such as classes have: nothing else begins with a capital letter.
func classLike(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' }

// Plain is a name of Cython's without what it adds for functions of fused types; false if there is
// no name in it.
func Plain(qualified string) (string, bool) {
	i := strings.LastIndexByte(qualified, '.') + 1
	last := fused().ReplaceAllString(qualified[i:], "")
	if last == "" || last == "__pyx_fused_cpdef" {
		return "", false
	}
	return qualified[:i] + last, true
}

// IsSource tells the file names of what Cython compiles.
func IsSource(file string) bool {
	for _, ext := range []string{".pyx", ".pxd", ".pxi", ".py"} {
		if strings.HasSuffix(file, ext) {
			return true
		}
	}
	return false
}

// CNames are the functions of C that the function is made of, as far as they are known: a def
// function's body has the number before the number of what takes its arguments.
func (f *Function) CNames() (names []string) {
	for _, c := range []string{f.CName, f.PyCName} {
		if c == "" {
			continue
		}
		names = append(names, c)
		before, rest, ok := strings.Cut(c, "__pyx_pw_")
		head, named := strings.CutSuffix(rest, f.Name)
		if !ok || !named {
			continue
		}
		digits := strings.TrimRight(head, "0123456789")
		n, err := strconv.Atoi(head[len(digits):])
		if err != nil || n == 0 {
			continue
		}
		number := ""
		if n > 1 {
			number = strconv.Itoa(n - 1)
		}
		names = append(names, before+"__pyx_pf_"+digits+number+f.Name)
		if before != "" {
			names = append(names, "__pyx_pf_"+digits+number+f.Name)
		}
	}
	return names
}

// VariableOf is the name in the source of a variable of a generated function; false of one
// that Cython has added.
func VariableOf(c string) (name string, ok bool) { return strings.CutPrefix(c, "__pyx_v_") }

// Global is the module and the name of a variable of C of a module.
func Global(c string) (module, name string, ok bool) {
	rest, ok := strings.CutPrefix(c, "__pyx_v_")
	if !ok {
		return "", "", false
	}
	whole, last, _, ok := path(rest, nil)
	return strings.TrimSuffix(whole, "."+last), last, ok
}

// Base is the name of a function of C without what the compiler adds to those of copies.
func Base(linkage string) string { return suffix().ReplaceAllString(linkage, "") }
