package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/allocs"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/internal/lazyregexp"
	"hdb/session/variables"
	"hdb/values"
)

func valueCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "call", Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[-OPTION... --] [/FMT] EXPRESSION", Short: "call a function; like print, but silent for void", Needs: shell.NeedLive, Run: c.Does(runCall),
			Long: "Other threads stay stopped during the call. A breakpoint or signal in the function undoes the call, except for its changes to memory. hdb calls nothing while the thread is inside an allocator: leave it with finish first.\n\nExample:\n  call dump_tree(root, 3)"},
		{Name: "print", Aliases: []string{"p", "inspect"}, Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[-OPTION... --] [/FMT] [EXPRESSION] | -block ADDRESS", Short: "evaluate an expression and print its value", Run: c.Does(runPrint),
			Long: "EXPRESSION is C's: names of the selected frame, members of this, globals and statics (a::b), casts, . -> [] * & arithmetic, comparison, sizeof, $registers, A@N for N values from A on, = += ++ to write to variables and registers, {1, 2} and C strings (L\"wide\") as arrays, .* and ->*, NAME@entry for an argument as the caller passed it, if the call site records it. The value is kept as $1, $2 and so on; $ is the last one. `help variables` explains $NAME. In a Go frame EXPRESSION is Go's, such as len(list) or m[\"key\"].x, and its value is not kept.\n\nf(x) makes the selected thread call a function while the others stay stopped. obj.f(x) calls a member function; for a virtual one, the override of the object's class. Overloads are chosen by the arguments, which are numbers, pointers, references, texts and structs. If something stops the call, the thread is returned to where it was. Operators and member functions of the C++ and Rust libraries are not called but computed from memory: v[i], v.size(), v.front(), m[\"x\"], opt.value(), s.c_str(), p.get(), *it, it->x. NAME == \"text\" compares strings; $_streq(A, B), $_strlen(S), $_regex(S, \"RE\") and $_memeq(A, B, N) are gdb's. -block prints the heap block around an address, with the type that whence shows." +
				"\n\n" +
				"FMT is x (hexadecimal), d, u, o, t (binary), z (hexadecimal with zeros), a (address with its symbol), c, f or s; r shows library containers as plain structs.\n\n" +
				"OPTION is one of gdb's, for this value alone: " + desk.PrintOptionWords() + "; -- ends the options. All but the last are also settings, such as `set print elements 5`. " +
				"At a terminal a value longer than a line is shown with one member per line, unless you `set print pretty off`.\n\n" +
				"Examples:\n  print index->pages[3]\n  print/x flags & 0xff\n  print *argv@argc\n  print (struct page *)$rdi\n  p $1.next\n  p -elements 5 -pretty off -- names\n  p orders[\"x\"].size()\n  p shape->area() * 2\n  print -block 0x55555578a2c8"},
		{Name: "output", Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[-OPTION... --] [/FMT] EXPRESSION", Short: "print a value without its $ number and without a newline", Run: c.Does(runOutput), Repeat: shell.RepeatNone,
			Long: "For scripts and the commands of a stop: the next output follows on the same line. echo and printf write the text around it.\n\nExamples:\n  output list->used\n  output/x flags"},
		{Name: "ptype", Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgType}, Synopsis: "[/FLAGS] EXPRESSION | TYPE", Short: "show a type with its members", Needs: shell.NeedProgram, Run: c.Does(typeTeller(true)),
			Long: "FLAGS are gdb's: o shows the offset and the size of each member, the holes between members and the padding at the end, x the same in hexadecimal; m leaves out member functions, t leaves out typedefs.\n\nExamples:\n  ptype struct page\n  ptype index->pages\n  ptype/o struct page"},
		{Name: "whatis", Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgType}, Synopsis: "EXPRESSION | TYPE", Short: "name the type of an expression", Needs: shell.NeedProgram, Run: c.Does(typeTeller(false)), Long: "Example:\n  whatis index->pages"},
		{Name: "locals", Group: shell.GroupData, Short: "show the variables of the selected frame", Needs: shell.NeedValues, Run: c.Does(infoLocals)},
		{Name: "args", Group: shell.GroupData, Short: "show the arguments of the selected frame", Needs: shell.NeedValues, Run: c.Does(infoArgs)},
		{Name: "display", Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[/FMT] [EXPRESSION]\n-a EXPRESSION\n-d N", Short: "print an expression now and at each stop", Needs: shell.NeedProgram, Run: c.Does(runDisplay),
			Long: "Without EXPRESSION it prints all displays. An expression that names local variables is shown only while these are in scope. `undisplay` removes a display. -a and -d are delve's words for display and undisplay. The formats i and s show memory, as x does.\n\nExamples:\n  display size\n  display/x flags\n  display/2i $pc"},
		{Name: "undisplay", Group: shell.GroupData, Args: []shell.ArgKind{shell.ArgDisplay}, Synopsis: "[N...]", Short: "remove displays", Run: c.Does(runUndisplay), Repeat: shell.RepeatNone, Long: "Example:\n  undisplay 2"},
	}
}

// valueInfos are the words behind info.
func valueInfos(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "locals", Under: "info", Aliases: []string{"lo"}, Short: "show the variables of the selected frame", Needs: shell.NeedValues, Run: c.Does(infoLocals), Repeat: shell.RepeatNone,
			Long: "Variables of the innermost block come first. <optimized out> variables have no value at this place in the code."},
		{Name: "args", Under: "info", Aliases: []string{"ar"}, Short: "show the arguments of the selected frame", Needs: shell.NeedValues, Run: c.Does(infoArgs), Repeat: shell.RepeatNone},
		{Name: "vtbl", Under: "info", Args: []shell.ArgKind{shell.ArgExpression}, Raw: true, Synopsis: "OBJECT", Short: "show the virtual functions of an object", Needs: shell.NeedMemory, Run: c.Does(infoVtbl), Repeat: shell.RepeatNone,
			Long: "It shows one table for each base class that has its own virtual table in the object. OBJECT may be a pointer.\n\nExample:\n  info vtbl shape"},
		{Name: "display", Under: "info", Short: "list the expressions that are shown at each stop", Run: c.Does(infoDisplay), Repeat: shell.RepeatNone},
	}
}

func runCall(_ context.Context, c *desk.Desk, in shell.Input) error {
	return printed(c, in, "", c.Session.Values.Call)
}

func runPrint(_ context.Context, c *desk.Desk, in shell.Input) error {
	if rest, ok := flags.Cut(in.Raw, "block"); ok {
		o, expr, err := c.Eval.OptionsAndRest(rest)
		if err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return allocs.PrintBlock(c, in, expr, o)
	}
	return printed(c, in, "$", c.Session.Values.Print)
}

func runOutput(_ context.Context, c *desk.Desk, in shell.Input) error {
	o, expr, err := c.Eval.OptionsAndRest(in.Raw)
	if err == nil && expr == "" {
		err = errors.New("an expression must follow")
	}
	var text string
	if err == nil {
		text, err = c.Session.Values.Output(expr, o)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	c.Show(in, desk.ValueView{Expr: expr, Value: text}, func(out *screen.Output) { out.Verbatim(text) })
	return nil
}

// printed shows the value of an expression, absent if there is none.
func printed(c *desk.Desk, in shell.Input, absent string, compute func(string, values.Options) (int, string, error)) error {
	o, expr, err := c.Eval.OptionsAndRest(in.Raw)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	if expr = cmp.Or(expr, absent); expr == "" {
		return fmt.Errorf("%s: an expression must follow", in.Name)
	}
	n, text, err := compute(expr, o)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, c.OrInPython(expr, err))
	}
	c.Show(in, desk.ValueView{Num: n, Expr: expr, Value: text}, func(out *screen.Output) {
		switch {
		case n > 0:
			out.Text(fmt.Sprintf("$%d = %s\n", n, text))
		case text != "": // of Go, which is not kept
			out.Text(text + "\n")
		}
	})
	return nil
}

func typeTeller(whole bool) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		if in.Raw == "" {
			return fmt.Errorf("%s: an expression or a type must follow", in.Name)
		}
		spec, expr := desk.CutFormat(in.Raw)
		o, err := typeOptions(spec)
		if err == nil && expr == "" {
			err = errors.New("an expression or a type must follow")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		text, columns, err := c.Session.Values.TypeOf(expr, whole, o)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		head := "type = "
		if columns {
			head = values.OffsetsHead + head
		}
		c.Show(in, struct {
			Type string `json:"type"`
		}{text}, func(out *screen.Output) { out.Text(head + text + "\n") })
		return nil
	}
}

// typeOptions reads /FLAGS of ptype and whatis.
func typeOptions(spec string) (o values.TypeOptions, err error) {
	for _, r := range strings.TrimPrefix(spec, "/") {
		switch r {
		case 'o':
			o.Offsets = true
		case 'x', 'd':
			o.Hex = r == 'x'
		case 'm', 'M':
			o.NoMethods = r == 'm'
		case 't', 'T':
			o.NoTypedefs = r == 't'
		case 'r': // names are never shortened by template parameters
		default:
			return o, fmt.Errorf("flag %q: o (offsets), x (in hexadecimal), m (no functions) or t (no typedefs) expected", r)
		}
	}
	return o, nil
}

// infoVtbl is `info vtbl`.
func infoVtbl(_ context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw == "" {
		return errors.New("info vtbl: an object or a pointer to one must follow")
	}
	list, err := c.Session.Values.VirtualTables(in.Raw)
	if err != nil {
		return fmt.Errorf("info vtbl: %w", err)
	}
	c.Show(in, struct {
		Tables []values.VirtualTable `json:"tables"`
	}{shell.List(list)}, func(out *screen.Output) {
		for i, v := range list {
			if i > 0 {
				out.Text("\n")
			}
			out.Text(fmt.Sprintf("vtable for '%s' @ %s (subobject @ %s):\n", v.Class, v.Table, v.Object))
			for n, e := range v.Entries {
				out.Text(strings.TrimRight(fmt.Sprintf("[%d]: %s %s", n, e.Address, e.Function), " ") + "\n")
			}
		}
	})
	return nil
}

func infoLocals(_ context.Context, c *desk.Desk, in shell.Input) error {
	return c.Eval.Variables(in, "no locals", (*variables.Values).Locals)
}

func infoArgs(_ context.Context, c *desk.Desk, in shell.Input) error {
	return c.Eval.Variables(in, "no arguments", (*variables.Values).Args)
}

// delvesDisplay matches delve's display -a EXPRESSION and -d NUMBER, which are no expressions: -a alone, and -a + 1, are.
var delvesDisplay = lazyregexp.New(`^-(a +[A-Za-z_$]|d +[0-9])`)

func runDisplay(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw == "" {
		c.Eval.ShowDisplays()
		return nil
	}
	if word, rest, _ := strings.Cut(in.Raw, " "); delvesDisplay().MatchString(in.Raw) {
		in.Args, in.Raw = strings.Fields(rest), strings.TrimSpace(rest)
		if word == "-d" {
			return runUndisplay(ctx, c, in)
		}
	}
	spec, expr := desk.CutFormat(in.Raw)
	d := desk.Display{Spec: spec, Expr: expr, Memory: strings.ContainsAny(spec, "is")}
	var err error
	if d.Memory {
		_, err = (&desk.Memory{Count: 1}).Parse(strings.TrimPrefix(spec, "/"))
	} else {
		_, err = c.Eval.Options(spec)
	}
	if err != nil {
		return fmt.Errorf("display: %w", err)
	}
	if expr == "" {
		return errors.New("display: an expression must follow")
	}
	c.Eval.Next++
	d.Num = c.Eval.Next
	c.Eval.Displays = append(c.Eval.Displays, d)
	if c.Session.Mode().Readable() {
		c.Eval.Displays[len(c.Eval.Displays)-1].Block = c.Session.Values.BlockOf(expr)
		err := c.Eval.ShowDisplay(&c.Eval.Displays[len(c.Eval.Displays)-1])
		if none := (*values.NoSymbolError)(nil); errors.As(err, &none) {
			c.Eval.Displays = c.Eval.Displays[:len(c.Eval.Displays)-1]
			c.Eval.Next--
			return fmt.Errorf("display: %w", err)
		}
		if err != nil {
			c.Notify(fmt.Sprintf("display %d has no value here: %v", d.Num, err))
		}
	}
	return nil
}

func runUndisplay(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) == 0 {
		if c.Confirm("Remove all displays?") {
			c.Eval.Displays = nil
		}
		return nil
	}
	for _, a := range in.Args {
		n, err := strconv.Atoi(a)
		i := slices.IndexFunc(c.Eval.Displays, func(d desk.Display) bool { return d.Num == n })
		if err != nil || i < 0 {
			return fmt.Errorf("undisplay: no display %q: see info display", a)
		}
		c.Eval.Displays = slices.Delete(c.Eval.Displays, i, i+1)
	}
	return nil
}

func infoDisplay(_ context.Context, c *desk.Desk, in shell.Input) error {
	views := make([]desk.ValueView, 0, len(c.Eval.Displays))
	for _, d := range c.Eval.Displays {
		views = append(views, desk.ValueView{Num: d.Num, Expr: d.Text()})
	}
	c.Show(in, struct {
		Displays []desk.ValueView `json:"displays"`
	}{views}, func(out *screen.Output) {
		if len(views) == 0 {
			out.Text("no displays: see `help display`\n")
		}
		for _, d := range c.Eval.Displays {
			out.Text(fmt.Sprintf("%d: %s\n", d.Num, d.Text()))
		}
	})
	return nil
}
