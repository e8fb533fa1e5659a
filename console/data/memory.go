package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"hdb/console/allocs"
	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/internal/outfile"
	"hdb/internal/regular"
)

func memoryCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "find", Group: shell.GroupData, Direct: true, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[/SIZE MAX] START, +LENGTH|END, VALUE... | -live [/SIZE MAX] VALUE... | -type TYPE [N | all]", Short: "search memory for bytes, or list the blocks of a type", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runFind),
			Long: "VALUE is a number, a string or another value; a number has its type's size; SIZE b, h, w or g makes it 1, 2, 4 or 8 bytes. A text ends with a NUL byte; for characters without one write 'a', 'b'. END is the last byte that is searched. It stops after MAX places, by default 10000. $_ is the last place found, $numfound the number of places.\n\n-live searches heap blocks: those recorded as live, and those found by walking glibc's heap. It also finds a text within a longer one. For each place it shows the block, the offset in it, the member there if the type is known, and who allocated it. -type lists the blocks of a type; TYPE is a name that `top per type` shows. N limits its rows, as /N in front of TYPE does. Both list 20 by default.\n\nExamples:\n  find buffer, +sizeof(buffer), \"key\"\n  find/g $rsp, +4096, pointer\n  find /1b &table[0], &table[99], 0xff\n  find -live \"alice@\"\n  find -type Node 50"},
		{Name: "dump", Group: shell.GroupFiles, Raw: true, Synopsis: "[binary] memory FILE START END | value FILE EXPRESSION", Short: "write memory or a value to a file", Repeat: shell.RepeatNone, Run: c.Does(dumper(replaceFile)),
			Long: "The bytes are written as they are. END is the address after the last byte. An existing file is replaced, as in gdb.\n\nExamples:\n  dump memory heap.bin block block+4096\n  dump value header.bin *header"},
		{Name: "append", Group: shell.GroupFiles, Raw: true, Synopsis: "[binary] memory FILE START END | value FILE EXPRESSION", Short: "append memory or a value to a file", Repeat: shell.RepeatNone, Run: c.Does(dumper(appendFile)),
			Long: "Example:\n  append value samples.bin sample"},
		{Name: "restore", Group: shell.GroupFiles, Raw: true, Args: []shell.ArgKind{shell.ArgFile}, Synopsis: "FILE binary ADDRESS [START [END]]", Short: "write a file's bytes into memory", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(runRestore),
			Long: "START and END are offsets in the file; byte START is written to ADDRESS+START, as in gdb.\n\nExample:\n  restore header.bin binary header"},
	}
}

func runFind(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if run, rest := allocs.BlockFinder(in.Raw); run != nil {
		in.Raw = rest
		return run(ctx, c, in)
	}
	spec, expr := desk.CutFormat(in.Raw)
	most, size, err := allocs.FindSpec(spec)
	if err != nil {
		return err
	}
	if expr == "" {
		return errors.New("find: START, +LENGTH or END, and the values to search for must follow")
	}
	s, err := c.Session.Patterns.Search(expr, size)
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	enough := allocs.FoundAtMost(most, desk.UsualFound)
	type foundView struct {
		Address string `json:"address"`
		Symbol  string `json:"symbol,omitempty"`
	}
	list := []foundView{}
	var last addr.Run
	unread := c.Session.Memory.Search(s, func(a addr.Run) bool {
		v := foundView{Address: a.String()}
		if sym, err := c.Session.Names().Symbols.At(a); err == nil {
			v.Symbol = desk.SymbolText(sym.Name, sym.Offset)
		}
		list, last = append(list, v), a
		return len(list) < enough && ctx.Err() == nil
	}, func() bool { return ctx.Err() != nil })
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	c.Session.Patterns.Found(last, len(list))
	if unread != nil {
		c.Notify(fmt.Sprintf("the search ends early: %v", unread))
	}
	if len(list) == enough && enough != most {
		c.Notify(fmt.Sprintf("the search ended after %d places: continue it with START %v, or find up to %d with /MAX", enough, last+1, desk.MaxFound))
	}
	c.Show(in, struct {
		Found []foundView `json:"found"`
	}{list}, func(out *screen.Output) {
		for _, v := range list {
			text := v.Address
			if v.Symbol != "" {
				text += " <" + v.Symbol + ">"
			}
			out.Text(text + "\n")
		}
		switch len(list) {
		case 0:
			out.Text("Pattern not found.\n")
		case 1:
			out.Text("1 pattern found.\n")
		default:
			out.Text(fmt.Sprintf("%d patterns found.\n", len(list)))
		}
	})
	return nil
}

// dumper is dump or append: add writes the bytes into the file.
func dumper(add func(path string, write func(io.Writer) error) error) func(context.Context, *desk.Desk, shell.Input) error {
	return func(ctx context.Context, c *desk.Desk, in shell.Input) error {
		word, rest := shell.SplitWord(in.Raw)
		if word == "binary" {
			word, rest = shell.SplitWord(rest)
		}
		path, rest := shell.SplitWord(rest)
		switch {
		case word == "ihex", word == "srec", word == "tekhex", word == "verilog":
			return fmt.Errorf("%s: %s: only binary files can be written: to convert one use objcopy -I binary -O %s", in.Name, word, word)
		case word != "memory" && word != "value" || rest == "":
			return fmt.Errorf("%s: memory FILE START END or value FILE EXPRESSION must follow", in.Name)
		}
		write := func(w io.Writer) error { return c.Eval.DumpMemory(ctx, w, rest) }
		if word == "value" {
			b, err := c.Session.Patterns.Raw(rest)
			if err != nil {
				return fmt.Errorf("%s: %w", in.Name, err)
			}
			write = func(w io.Writer) error { _, err := w.Write(b); return err }
		} else if err := c.Eval.DumpMemory(ctx, nil, rest); err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		if err := add(line.ExpandHome(path), write); err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		return nil
	}
}

// replaceFile writes a file that has its name when it is complete.
func replaceFile(path string, write func(io.Writer) error) error {
	return outfile.File{Path: path, Force: true}.Write(write)
}

// appendFile writes behind what a file has. After an error the file is as it was.
func appendFile(path string, write func(io.Writer) error) error {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return replaceFile(path, write)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		if err = write(f); err != nil {
			err = errors.Join(err, f.Truncate(st.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

func runRestore(ctx context.Context, c *desk.Desk, in shell.Input) error {
	path, rest := shell.SplitWord(in.Raw)
	word, rest := shell.SplitWord(rest)
	if word != "binary" || rest == "" {
		return errors.New("restore: FILE binary ADDRESS [START [END]] must follow: only binary files can be read")
	}
	where, rest := shell.SplitWord(rest)
	a, err := c.Eval.Address(where)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	f, st, err := regular.Open(line.ExpandHome(path))
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer f.Close()
	from, to := int64(0), st.Size()
	for i, w := range strings.Fields(rest) {
		n, err := strconv.ParseInt(w, 0, 64)
		if err != nil || n < 0 || i > 1 {
			return fmt.Errorf("restore: %q: START and END are numbers of bytes in the file", rest)
		}
		if i == 0 {
			from = min(n, st.Size())
		} else {
			to = min(n, st.Size())
		}
	}
	if from >= to {
		return fmt.Errorf("restore: %s has no bytes from %d to %d", path, from, to)
	}
	a += addr.Run(from)
	done, err := restore(c, ctx, a, io.NewSectionReader(f, from, to-from))
	switch {
	case err != nil && done > 0:
		return fmt.Errorf("restore: %w: %d bytes at %v were already written", err, done, a)
	case err != nil:
		return fmt.Errorf("restore: %w", err)
	}
	c.Say("%s of %s are at %v now", c.Out.Sizes.Long(uint64(done)), path, a)
	return nil
}

// restore writes what r has into memory, in pieces, and tells how much it has written.
func restore(c *desk.Desk, ctx context.Context, a addr.Run, r *io.SectionReader) (done int64, err error) {
	b := make([]byte, min(r.Size(), desk.MaxDump))
	for done < r.Size() {
		if ctx.Err() != nil {
			return done, shell.ErrInterrupted
		}
		n, err := r.ReadAt(b[:min(int64(len(b)), r.Size()-done)], done)
		if n == 0 {
			return done, err // the file has become shorter
		}
		if err := c.Session.Memory.Write(a+addr.Run(done), b[:n]); err != nil {
			return done, err
		}
		done += int64(n)
	}
	return done, nil
}
