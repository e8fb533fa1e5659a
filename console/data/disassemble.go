package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/names"
)

func codeCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "disassemble", Aliases: []string{"disas", "disass"}, Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgFunction}, Repeat: shell.RepeatNone, Needs: shell.NeedProgram, Run: c.Does(runDisassemble),
			Synopsis: "[/srm] [FUNCTION | ADDRESS]\n[/srm] FROM,TO\n[/srm] FROM,+LENGTH", Short: "show the instructions of a function or of a range of addresses",
			Long: "Without arguments it shows the function of the selected frame, with the arrow => at the frame's PC; with ADDRESS, the function around it. Numbers like <+12> are offsets from the function's entry. /s adds source lines, in the order of the addresses, /m in the order of the lines. /r shows the bytes of each instruction. Until the program runs, the code is read from its file." +
				"\n\n" +
				"Examples:\n  disassemble\n  disassemble /s Index::read_page\n  disassemble /r $pc,+32"},
	}
}

// A disassembly is code as disassemble shows it.
type disassembly struct {
	c           *desk.Desk
	source, raw bool // /s, /r
	byLine      bool // /m
	function    names.CodeInfo
	whole       bool // a function, not a range
	parts       []names.CodeRange
	list        []disassembled
	pc          addr.Run // of the selected frame
}

// disassembled is one instruction with its place.
type disassembled struct {
	desk.Instruction
	part   int
	symbol string // <+12>, or <main+12> outside of the function
	file   string
	line   int
}

func runDisassemble(_ context.Context, c *desk.Desk, in shell.Input) error {
	d := &disassembly{c: c}
	rest, err := d.flags(in.Raw)
	if err != nil {
		return err
	}
	if f, err := c.Session.Selection.Frame(); err == nil {
		d.pc = f.Code.Addr()
	}
	if err := d.find(rest); err != nil {
		return fmt.Errorf("disassemble: %w", err)
	}
	if err := d.read(); err != nil {
		return fmt.Errorf("disassemble: %w", err)
	}
	d.show(in)
	return nil
}

// flags reads /s, /r and /m.
func (d *disassembly) flags(text string) (rest string, err error) {
	for strings.HasPrefix(text, "/") {
		var word string
		word, text = shell.SplitWord(text[1:])
		for _, r := range word {
			switch r {
			case 's':
				d.source = true
			case 'm':
				d.source, d.byLine = true, true
			case 'r', 'b':
				d.raw = true
			default:
				return "", fmt.Errorf("disassemble: unknown letter %q: s, r or m expected", string(r))
			}
		}
	}
	return text, nil
}

// find reads which code is meant.
func (d *disassembly) find(text string) error {
	from, to, isRange := desk.CutComma(text)
	if isRange {
		return d.findRange(strings.TrimSpace(from), strings.TrimSpace(to))
	}
	at := d.pc
	if text == "" && at == 0 {
		return errors.New("no frame is selected: a function or an address must follow")
	}
	if text != "" {
		var err error
		if at, err = d.c.Eval.Address(text); err != nil {
			return err
		}
	}
	var err error
	if d.function, err = d.c.Session.Names().Symbols.Code(at); err != nil {
		return fmt.Errorf("%w: give a range, as %v,+32", err, at)
	}
	d.whole, d.parts = true, d.function.Parts
	return nil
}

func (d *disassembly) findRange(from, to string) error {
	if from == "" || to == "" {
		return errors.New("FROM,TO or FROM,+LENGTH expected")
	}
	low, err := d.c.Eval.Address(from)
	if err != nil {
		return err
	}
	var high addr.Run
	if length, ok := strings.CutPrefix(to, "+"); ok {
		n, err := strconv.ParseUint(strings.TrimSpace(length), 0, 32)
		if err != nil {
			return fmt.Errorf("%q: a number of bytes expected", to)
		}
		high = low + addr.Run(n)
	} else if high, err = d.c.Eval.Address(to); err != nil {
		return err
	}
	if high <= low {
		return fmt.Errorf("%v,%v: the range is empty", low, high)
	}
	d.parts = []names.CodeRange{{Low: low, High: high}}
	return nil
}

// read decodes the parts and finds the lines of their instructions.
func (d *disassembly) read() error {
	for i, p := range d.parts {
		n := uint64(p.High - p.Low)
		if n > desk.MaxDisassembled {
			return fmt.Errorf("more than %s at once: give a range", d.c.Out.Sizes.Long(desk.MaxDisassembled))
		}
		ahead := 0 // an instruction that begins in a range is shown whole
		if !d.whole {
			ahead = desk.MaxInstruction - 1
		}
		code, err := d.c.Session.Memory.Code(p.Low, int(n)+ahead)
		if err != nil && ahead > 0 {
			code, err = d.c.Session.Memory.Code(p.Low, int(n))
		}
		if err != nil {
			return err
		}
		for _, inst := range desk.DecodeAll(code, p.Low, d.c.SymbolText) {
			if inst.Addr >= p.High {
				break
			}
			d.list = append(d.list, disassembled{Instruction: inst, part: i, symbol: d.symbolOf(inst.Addr)})
		}
		d.lines(p, i)
	}
	return nil
}

// symbolOf is where an instruction lies.
func (d *disassembly) symbolOf(a addr.Run) string {
	if d.whole && d.parts[0].Low <= a && a < d.parts[0].High || d.whole && d.function.Name != "" && a >= d.function.Entry {
		return fmt.Sprintf("+%d", a-d.function.Entry)
	}
	if d.whole && d.function.Name != "" {
		return fmt.Sprintf("-%d", d.function.Entry-a)
	}
	text := d.c.SymbolText(a)
	if text != "" && !strings.Contains(text, "+") {
		text += "+0"
	}
	return text
}

// lines gives the instructions of a part the lines of the line table.
func (d *disassembly) lines(p names.CodeRange, part int) {
	rows := d.c.Session.Names().Symbols.LineRows(p.Low, p.High)
	for i := range d.list {
		inst := &d.list[i]
		if inst.part != part {
			continue
		}
		k, exact := slices.BinarySearchFunc(rows, inst.Addr, func(r names.LineInfo, a addr.Run) int {
			switch {
			case r.Addr < a:
				return -1
			case r.Addr > a:
				return 1
			}
			return 0
		})
		if !exact {
			k--
		}
		if k >= 0 && inst.Addr < rows[k].End {
			inst.file, inst.line = rows[k].File, rows[k].Line
		}
	}
}

type instructionView struct {
	Addr    string  `json:"address"`
	Offset  *uint64 `json:"offset,omitempty"` // from the function's entry
	Symbol  string  `json:"symbol,omitempty"`
	Bytes   string  `json:"code"`
	Text    string  `json:"text"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line,omitempty"`
	Current bool    `json:"current,omitempty"`
}

func (d *disassembly) show(in shell.Input) {
	views := make([]instructionView, 0, len(d.list))
	for _, inst := range d.list {
		v := instructionView{Addr: inst.Addr.String(), Bytes: fmt.Sprintf("% x", inst.Code), Text: inst.Text, File: inst.file, Line: inst.line, Current: inst.Addr == d.pc}
		if d.whole && inst.Addr >= d.function.Entry {
			n := uint64(inst.Addr - d.function.Entry)
			v.Offset = &n
		} else {
			v.Symbol = inst.symbol
		}
		views = append(views, v)
	}
	d.c.Show(in, struct {
		Function     string            `json:"function,omitempty"`
		Module       string            `json:"module,omitempty"`
		Instructions []instructionView `json:"instructions"`
	}{d.function.Name, d.function.Module, views}, d.print)
}

func (d *disassembly) print(o *screen.Output) {
	switch {
	case !d.whole:
		o.Printf("Dump of assembler code from %v to %v:\n", d.parts[0].Low, d.parts[0].High)
	case d.function.Name == "":
		o.Printf("Dump of assembler code of the function at %v:\n", d.function.Entry)
	default:
		o.Line(screen.Plain("Dump of assembler code for function "), screen.Func(o.Names.Short(d.function.Name)), screen.Plain(":"))
	}
	l := newListingOfCode(d)
	if d.byLine {
		l.printByLine(o)
	} else {
		for i, p := range d.parts {
			if len(d.parts) > 1 {
				o.Printf("Address range %v to %v:\n", p.Low, p.High)
			}
			l.printPart(o, i)
		}
	}
	o.Printf("End of assembler dump.\n")
}

// printInstruction prints one, its columns as wide as those of the others.
func (l *codeListing) printInstruction(o *screen.Output, inst *disassembled) {
	mark := "   "
	if inst.Addr == l.d.pc {
		mark = "=> "
	}
	row := []screen.Span{screen.Arrow(mark), screen.Addr(inst.Addr.String())}
	if inst.symbol != "" {
		row = append(row, screen.Func(" <"+inst.symbol+">"))
	}
	row = append(row, screen.Plain(":"+strings.Repeat(" ", l.symbols-len(inst.symbol))))
	if l.d.raw {
		row = append(row, screen.Guess(fmt.Sprintf("  %-*s", l.bytes, fmt.Sprintf("% x", inst.Code))))
	}
	op, rest, _ := strings.Cut(inst.Text, " ")
	o.Line(append(row, screen.Plain(fmt.Sprintf("  %-6s %s", op, rest)))...)
}
