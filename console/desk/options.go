package desk

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/values"
)

// Options are how values are printed, by the settings and a format.
func (e *Evaluator) Options(spec string) (values.Options, error) {
	o := e.optionsOf(e.c.Set.Value)
	err := readFormat(&o, spec)
	return o, err
}

// readFormat reads /FMT.
func readFormat(o *values.Options, spec string) error {
	for _, r := range strings.TrimPrefix(spec, "/") {
		switch {
		case r == 'r':
			o.Raw = true
		case strings.ContainsRune("xduotacfsz", r) && o.Letter == 0:
			o.Letter = byte(r)
		default:
			return fmt.Errorf("format %q: one of x d u o t z a c f s expected, and r for raw containers", spec)
		}
	}
	return nil
}

// CutFormat splits /FMT from an expression.
func CutFormat(raw string) (spec, expr string) {
	if strings.HasPrefix(raw, "/") {
		return shell.SplitWord(raw)
	}
	return "", raw
}

// promptWidth is what is before a value, as `$12 = `.
const promptWidth = 8

// optionsOf are how values are printed by settings.
func (e *Evaluator) optionsOf(setting func(name string) string) values.Options {
	on := func(name string) bool { return setting("print "+name) == "on" }
	number := func(name string) (n int) {
		n, _ = strconv.Atoi(setting("print " + name)) // checked when it was set
		return n
	}
	o := values.Options{
		Elements: number("elements"), Pretty: on("pretty"), Array: on("array"), Depth: number("max-depth"), Repeats: number("repeats"),
		NoUnions: !on("union"), NoStatics: !on("static-members"), NoSymbols: !on("symbol"), Object: on("object"),
	}
	if o.Depth == 0 {
		o.Depth = values.AllDepth
	}
	if o.Repeats == 0 {
		o.Repeats = values.MaxElements
	}
	if _, _, tty := screen.TerminalSize(e.c.Out); setting("print pretty") == "auto" && (tty || e.c.Set.Count("width") > 0) && !e.c.Opt.JSON {
		o.Width = max(e.c.Out.Width-promptWidth, 1)
	}
	return o
}

// printOptions are the settings that print takes as options, as -elements for print
// elements.
var printOptions = []string{"array", "elements", "max-depth", "object", "pretty", "repeats", "static-members", "symbol", "union"}

// PrintOptionWords are the options in words.
func PrintOptionWords() string {
	return "-" + strings.Join(printOptions, ", -") + " and -raw-values"
}

// OptionsAndRest reads `-OPTION... --`, /FMT and returns the expression behind them. As in gdb,
// there are no options without --, so that an expression can begin with a minus sign.
func (e *Evaluator) OptionsAndRest(raw string) (values.Options, string, error) {
	own := map[string]string{}
	rest := raw
	if head, behind, ok := cutOptions(raw); ok {
		if err := e.readOptions(own, head); err != nil {
			return values.Options{}, "", err
		}
		rest = behind
	}
	o := e.optionsOf(func(name string) string {
		if v, ok := own[name]; ok {
			return v
		}
		return e.c.Set.Value(name)
	})
	o.Raw = own["raw-values"] == "on"
	spec, expr := CutFormat(rest)
	err := readFormat(&o, spec)
	return o, expr, err
}

// cutOptions splits a line at --, if it begins with an option.
func cutOptions(raw string) (head []string, rest string, ok bool) {
	if !strings.HasPrefix(raw, "-") {
		return nil, "", false
	}
	for rest = raw; rest != ""; {
		word, behind := shell.SplitWord(rest)
		if word == "--" {
			return head, behind, true
		}
		head, rest = append(head, word), behind
	}
	return nil, "", false
}

// readOptions reads options and their values. A value may be left out where it is on.
func (e *Evaluator) readOptions(own map[string]string, words []string) error {
	for len(words) > 0 {
		name, ok := strings.CutPrefix(words[0], "-")
		if !ok {
			return fmt.Errorf("%q: an option as -elements expected before --", words[0])
		}
		words = words[1:]
		full, err := printOption(name)
		if err != nil {
			return err
		}
		value := ""
		if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
			value, words = words[0], words[1:]
		}
		s := &shell.Setting{Name: full, Kind: shell.KindBool}
		if i := slices.IndexFunc(e.c.Set.Table, func(s *shell.Setting) bool { return s.Name == "print "+full }); i >= 0 {
			s = e.c.Set.Table[i]
		}
		v, err := s.Parse(value)
		if err != nil {
			return fmt.Errorf("-%s: %w", full, err)
		}
		own[s.Name] = v
	}
	return nil
}

// printOption is the option with a name or the beginning of one.
func printOption(name string) (string, error) {
	var hits []string
	for _, o := range append([]string{"raw-values"}, printOptions...) {
		if o == name {
			return o, nil
		}
		if name != "" && strings.HasPrefix(o, name) {
			hits = append(hits, o)
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return "", fmt.Errorf("unknown option -%s: %s", name, PrintOptionWords())
	}
	return "", errors.New("ambiguous option -" + name + ": -" + strings.Join(hits, ", -"))
}
