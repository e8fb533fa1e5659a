package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors by which the lines of a loop end.
var (
	errLoopBreak    = errors.New("loop_break: there is no while around it")
	errLoopContinue = errors.New("loop_continue: there is no while around it")
)

// block reads the lines of an if or while: also where its expression is missing, as they
// are no commands of now.
func (r *interpreter) block(in Input) (*scriptSource, error) {
	src := &scriptSource{block: true}
	if n := len(r.sources); n > 0 {
		if around, ok := r.sources[n-1].(*scriptSource); ok {
			src.name, src.first = around.name, around.first+around.at
		}
	}
	lines, err := r.readBlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	src.lines = lines
	if strings.TrimSpace(in.Raw) == "" {
		return nil, fmt.Errorf("%s: an expression must follow", in.Name)
	}
	return src, nil
}

// part is the lines of a block from one to another.
func (s *scriptSource) part(from, to int) *scriptSource {
	return &scriptSource{name: s.name, first: s.first + from, lines: s.lines[from:to], block: s.block}
}

// elseLine is the index of a block's own else, or the number of its lines.
func elseLine(lines []string) int {
	b := block{open: 1}
	for i, l := range lines {
		if l == "else" && b.open == 1 {
			return i
		}
		b.step(l)
	}
	return len(lines)
}

// A block is lines up to their own `end`, as far as they were looked at.
type block struct {
	open int  // blocks that have not ended
	text bool // the innermost is text, whose lines are no commands
}

// beginsBlock is the block that a line begins; open is 0 if it begins none.
func beginsBlock(line string) block {
	switch word, _ := commandWord(line); word {
	case "commands", "define", "if", "while":
		return block{open: 1}
	case "document":
		return block{open: 1, text: true}
	}
	return block{}
}

// step continues to the next line, without blanks around it, and reports whether the outermost
// block has ended with it.
func (b *block) step(line string) (ended bool) {
	if line == "end" {
		b.open, b.text = b.open-1, false
		return b.open == 0
	}
	if inner := beginsBlock(line); inner.open > 0 && !b.text {
		b.open, b.text = b.open+1, inner.text
	}
	return false
}

// readBlock reads the lines up to the matching `end` from wherever the
// command itself came from.
func (r *interpreter) readBlock() ([]string, error) { return r.readLines(false) }

// readLines is readBlock, of commands or of text.
func (r *interpreter) readLines(text bool) ([]string, error) {
	if len(r.sources) == 0 {
		return nil, errors.New("a block needs lines after it, up to `end`: only scripts and the prompt have them")
	}
	src := r.sources[len(r.sources)-1]
	var lines []string
	b := block{open: 1, text: text}
	for {
		line, err := src.next(strings.Repeat(" ", max(0, len(r.c.Set.Value("prompt"))-2)) + "> ")
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the block has no `end`")
		}
		if err != nil {
			return nil, err
		}
		if r.depth == 0 && !r.hooking {
			logTyped(r.c, strings.TrimSpace(line))
		}
		trimmed := strings.TrimSpace(line)
		if b.step(trimmed) {
			return lines, nil
		}
		lines = append(lines, trimmed)
	}
}
