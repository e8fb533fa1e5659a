package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean spells every character of s that a terminal could act upon as an
// escape: control characters, bidirectional overrides and other invisible
// format characters, line separators, and bytes that are not UTF-8. What is
// left is graphic in the sense of the Unicode general categories L, M, N, P, S
// and Zs. Names from an inferior, a symbol table or a file pass through here,
// and through nothing else, on their way to the terminal.
func Clean(s string) string { return cleanKeeping(s, "") }

// CleanText is clean for text with lines: newlines stay.
func CleanText(s string) string { return cleanKeeping(s, "\n") }

// CleanTabs is clean for text that a user has laid out: newlines and tabs stay.
func CleanTabs(s string) string { return cleanKeeping(s, "\n\t") }

// cleanKeeping is clean with the characters of keep left alone.
func cleanKeeping(s, keep string) string {
	start := firstUnclean(s, keep)
	if start < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:start])
	for i := start; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsGraphic(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		default:
			b.WriteString(escapeRune(r))
		}
		i += n
	}
	return b.String()
}

// firstUnclean is the index of the first character that needs an escape, or -1.
func firstUnclean(s, keep string) int {
	for i, r := range s {
		if r >= ' ' && r < 0x7f || strings.ContainsRune(keep, r) && r != utf8.RuneError {
			continue
		}
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return i
		}
	}
	return -1
}

// escapeRune spells a character as Go and C do.
func escapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// CleanJSON spells the same characters as clean inside marshalled JSON, where they can only are in
// strings, in JSON's own escapes, so that the text decodes to what it was. encoding/json already
// escapes those below U+0020.
func CleanJSON(b []byte) []byte {
	s := string(b)
	if firstUnclean(s, "") < 0 {
		return b
	}
	var out []byte
	for _, r := range s {
		switch {
		case unicode.IsGraphic(r):
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out
}
