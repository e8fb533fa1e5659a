package report

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"unicode"
)

// chains yields the frames of a stack by code address, innermost first: of each
// address the functions that were inlined there, and last the one whose code it
// is.
func (p *Profile) chains(s *Stack) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		from := 0
		for i, f := range s.Frames {
			if p.Frames[f].Inlined && i+1 < len(s.Frames) {
				continue
			}
			if !yield(s.Frames[from : i+1]) {
				return
			}
			from = i + 1
		}
	}
}

// Placeholder is the text that represents the frames that a stack lacks, where a reader has only
// frames to show it; "" if it lacks none.
func (s *Stack) Placeholder() string {
	switch {
	case s.Mapped && s.Truncated != "":
		return "[mappings, " + s.Truncated + "]"
	case s.Mapped:
		return "[mappings]"
	case s.Truncated != "":
		return "[" + s.Truncated + "]"
	case len(s.Frames) == 0:
		return "[no frames]"
	}
	return ""
}

// ThreadLabel names the thread whose row the stack is: its name, with the TID where that is known.
func (s *Stack) ThreadLabel() string {
	if s.TID == 0 {
		return s.Thread
	}
	if s.Thread == "" {
		return fmt.Sprintf("thread %d", s.TID)
	}
	return fmt.Sprintf("%s (%d)", s.Thread, s.TID)
}

// outermost are the texts that are outside of a stack's frames, where a reader has only frames to
// show them, the outermost first: the thread, if they are distinguished, and Placeholder. There are
// n of them.
func (p *Profile) outermost(s *Stack) (texts [2]string, n int) {
	if p.Threads {
		texts[n] = "[" + s.ThreadLabel() + "]"
		n++
	}
	if outer := s.Placeholder(); outer != "" {
		texts[n] = outer
		n++
	}
	return texts, n
}

// ModulePath is the file that a frame's code is of, "" if in none: in a merged recording it
// is one module for each program.
func (p *Profile) ModulePath(f *Frame) string {
	if f.Module < 0 || f.Module >= len(p.Modules) {
		return ""
	}
	return p.Modules[f.Module].Path
}

// Plain is text that readers may put on a terminal or a page: UTF-8 without
// control characters, overrides of direction and what else cannot be seen.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// signed is a count where a format has signed numbers. What is more was made up.
func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
