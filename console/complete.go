package console

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/shell"
	"hdb/console/stops"
	"hdb/internal/cond"
	"hdb/internal/lazyregexp"
	"hdb/names"
	"hdb/query"
	"hdb/session/target"
)

// functionNames completes a function by its name, qualified or not; nothing is offered for an
// empty word, which would read every symbol there is. All words begin as typed, unless there
// is one function alone, or all are of one scope: then its whole name is offered.
func (k programWords) functionNames(word string) []string {
	if word == "" {
		return nil
	}
	var whole, inner, short []string
	for _, name := range k.functions(func(name string) bool { return nameAt(name, word) >= 0 }) {
		i := nameAt(name, word)
		switch name = query.WithoutParameters(name); {
		case i >= len(name): // it is of a parameter's type
		case i == 0:
			whole = append(whole, name)
		default:
			inner, short = append(inner, name), append(short, name[i:])
		}
	}
	words := line.StartingWith(append(whole, short...), word)
	if len(whole) == 0 && strings.Contains(commonPrefix(inner), word) {
		words = line.StartingWith(inner, "")
	}
	return words[:min(len(words), line.MaxCandidates)]
}

// functions are those of the program and its libraries that match, of a capture those in its
// stacks.
func (k programWords) functions(match func(name string) bool) []string {
	if k.c.Session.Mode() != target.Saved {
		return k.c.Session.Names().Symbols.FunctionNames(match)
	}
	p, err := k.c.Session.Queries.Profile(query.ProfileParts{})
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range p.Frames {
		if match(f.Function) {
			names = append(names, f.Function)
		}
	}
	return names
}

// nameAt is where a function's name, or that without some of its scopes, begins with a word;
// -1: nowhere.
func nameAt(name, word string) int {
	if strings.HasPrefix(name, word) {
		return 0
	}
	i := strings.Index(name, "::"+word)
	if i < 0 || strings.ContainsAny(name[:i], "(<") { // in a parameter or type argument
		return -1
	}
	return i + len("::")
}

// commonPrefix is what all words begin with.
func commonPrefix(words []string) string {
	if len(words) == 0 {
		return ""
	}
	first, last := slices.Min(words), slices.Max(words)
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	return first[:n]
}

// moduleNames completes what module("...") asks for.
func (k programWords) moduleNames(word string) []string {
	var all []string
	for _, m := range k.c.Session.Names().ModuleInfos() {
		all = append(all, filepath.Base(m.Name))
	}
	return line.StartingWith(all, word)
}

// The ends of lines behind which something special can be.
var (
	openPredicate = lazyregexp.New(`\b(func|caller|module)\("([^"]*)$`)
	threadNumber  = lazyregexp.New(`\bthread *[!=]= *([0-9]*)$`)
	numberedEvent = lazyregexp.New(`#[0-9]*$`)
	registerName  = lazyregexp.New(`\$[a-z0-9_]*$`)
	memberName    = lazyregexp.New(`([A-Za-z_$][\w$]*(?:(?:->|\.|::)\w+|\[[^\]]*\])*)(->|\.)(\w*)$`)
	plainName     = lazyregexp.New(`[A-Za-z_]\w*(::~?\w*)*$`)
)

// expression completes the end of a condition, or of an expression or type of the program.
func (k programWords) expression(left, rest string, kind shell.ArgKind) (int, []string) {
	condition := kind == shell.ArgCondition
	at := func(word string) int { return len(left) - len(word) }
	if m := openPredicate().FindStringSubmatch(rest); m != nil && condition {
		names := k.functionNames
		if m[1] == "module" {
			names = k.moduleNames
		}
		words := names(m[2])
		for i := range words {
			words[i] += `")`
		}
		return at(m[2]), words
	}
	if m := threadNumber().FindStringSubmatch(rest); m != nil && condition {
		return at(m[1]), slices.DeleteFunc(k.threadNumbers(m[1]), func(w string) bool { return w == "apply" })
	}
	if word := numberedEvent().FindString(rest); word != "" && (condition || strings.TrimSpace(rest) == word) {
		return at(word), k.eventNumbers(word)
	}
	if word := registerName().FindString(rest); word != "" {
		return at(word), k.registers(word)
	}
	if m := memberName().FindStringSubmatch(rest); m != nil {
		return at(m[3]), line.StartingWith(k.c.Session.Scopes.Members(m[1]), m[3])
	}
	word := plainName().FindString(rest)
	all := k.c.Session.Scopes.Variables()
	if condition {
		for _, f := range cond.Fields() {
			all = append(all, f.Name)
		}
		all = append(all, `func("`, `module("`, `caller("`, "kind")
	}
	words := line.StartingWith(all, word)
	if kind == shell.ArgType {
		words = append(words, k.typeNames(word)...)
	}
	if len(words) == 0 && !condition {
		words = append(k.globalNames(word), k.functionNames(word)...)
	}
	return at(word), line.StartingWith(words, "")
}

// typeNames completes a type by its name, qualified or not; nothing is offered for an empty word.
func (k programWords) typeNames(word string) []string {
	return namesAt(word, k.c.Session.Names().Symbols.Types)
}

// globalNames completes a variable outside of functions.
func (k programWords) globalNames(word string) []string {
	return namesAt(word, k.c.Session.Names().Symbols.Variables)
}

// namesAt are the names in which a word begins one of the scopes, or the name. A program without
// debug information has none.
func namesAt(word string, find func(*regexp.Regexp) ([]names.GlobalInfo, error)) []string {
	if word == "" {
		return nil
	}
	found, err := find(regexp.MustCompile(`(^|::)` + regexp.QuoteMeta(word)))
	if err != nil {
		return nil
	}
	var all []string
	for _, g := range found {
		if nameAt(g.Name, word) >= 0 && !strings.ContainsAny(g.Name, "<({") {
			all = append(all, g.Name)
		}
	}
	all = line.StartingWith(all, "")
	return all[:min(len(all), line.MaxCandidates)]
}

// registers completes $NAME, a register or a convenience variable.
func (k programWords) registers(word string) []string {
	var names []string
	for _, name := range k.c.Session.Scopes.ConvenienceNames() {
		names = append(names, "$"+name)
	}
	regs, err := k.c.Session.Selection.Registers()
	if err != nil {
		return line.StartingWith(names, word)
	}
	names = append(names, "$pc", "$sp", "$fp")
	for _, r := range regs {
		names = append(names, "$"+r.Name)
	}
	return line.StartingWith(names, word)
}

// moments completes what goto and diff take.
func (k programWords) moments(word string) []string {
	if strings.HasPrefix(word, "#") {
		return k.eventNumbers(word)
	}
	names := []string{"peak", "start", "end"}
	for i := range k.c.Session.Recorded.Stops() {
		names = append(names, "stop"+strconv.Itoa(i+1))
	}
	for _, m := range k.c.Session.Recorded.Marks() {
		names = append(names, m.Name)
	}
	return line.StartingWith(names, word)
}

// eventNumbers completes #N by the numbers that one may have seen: of the events that were
// stopped at or marked.
func (k programWords) eventNumbers(word string) []string {
	var names []string
	for _, st := range k.c.Session.Recorded.Stops() {
		names = append(names, fmt.Sprintf("#%d", max(st.Event, st.Seq)))
	}
	for _, m := range k.c.Session.Recorded.Marks() {
		names = append(names, fmt.Sprintf("#%d", m.Seq))
	}
	return line.StartingWith(slices.DeleteFunc(names, func(n string) bool { return n == "#0" }), word)
}

// programWords finds words of the program and its recording for the Tab key.
type programWords struct{ c *desk.Desk }

// Words are those of a kind that begin as typed.
func (h *host) Words(kind shell.ArgKind, word string) []string {
	c := h.Desk
	k := programWords{c}
	switch kind {
	case shell.ArgLocation:
		return append(append(line.StartingWith(stops.StopWords(), word), k.functionNames(word)...), k.sourceNames(word)...)
	case shell.ArgFunction:
		return k.functionNames(word)
	case shell.ArgSource:
		return k.sourceNames(word)
	case shell.ArgStop:
		var ids []string
		for _, st := range c.Session.Stops.All() {
			ids = append(ids, strconv.Itoa(st.ID))
		}
		return line.StartingWith(ids, word)
	case shell.ArgThread:
		return k.threadNumbers(word)
	case shell.ArgSignal:
		var names []string
		for _, s := range c.Session.Catches.Signals() {
			names = append(names, s.Name)
		}
		return line.StartingWith(names, word)
	case shell.ArgDisplay:
		var ids []string
		for _, d := range c.Eval.Displays {
			ids = append(ids, strconv.Itoa(d.Num))
		}
		return line.StartingWith(ids, word)
	case shell.ArgEvent:
		if strings.HasPrefix(word, "#") {
			return k.eventNumbers(word)
		}
	case shell.ArgMoment:
		return k.moments(word)
	case shell.ArgMomentOrFile:
		return append(k.moments(word), line.FileNames(word)...)
	}
	return nil
}

// Expression completes the last word of a condition or an expression, which begins behind start bytes of left.
func (h *host) Expression(kind shell.ArgKind, left, expr string) (start int, words []string) {
	return programWords{h.Desk}.expression(left, expr, kind)
}

// sourceNames completes a source file by its base name.
func (k programWords) sourceNames(word string) []string {
	if word == "" {
		return nil
	}
	files, err := k.c.Session.Names().Symbols.SourceFiles()
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		if base := filepath.Base(f); strings.HasPrefix(base, word) && len(names) < line.MaxCandidates {
			names = append(names, base)
		}
	}
	return line.StartingWith(names, word)
}

func (k programWords) threadNumbers(word string) []string {
	threads, err := k.c.Session.Selection.Threads()
	if err != nil {
		return nil
	}
	ids := []string{"apply"}
	for _, t := range threads {
		ids = append(ids, strconv.Itoa(t.Num))
	}
	return line.StartingWith(ids, word)
}
