package demangle

import (
	"strconv"
	"strings"

	itanium "github.com/ianlancetaylor/demangle"
)

// renumbered rewrites a name of clang so that the library reads its substitutions right.
//
// In an unresolved name, sr <simple-id>+ E <name>, as in
//
//	_ZSt4swapIiENSt9enable_ifIXsr6__and_I...EE5valueEvE4typeERS3_SC_
//
// a template's name is no candidate for substitution (Itanium C++ ABI, section 5.1.6), and
// clang and llvm-cxxfilt count none. The library counts one, so that all later ones are
// taken for the one before: the parameters of std::swap<int> were of other types. The
// references behind it are raised by one. A name that cannot be followed comes back as it is.
func renumbered(s string) string {
	// Each costs some dozen readings of what is before it: real names have one or two.
	const longest, most = 4096, 16
	if !strings.Contains(s, "sr") || len(s) > longest {
		return s
	}
	from := 0
	for range most {
		at, ok := unresolved(s, from)
		if !ok {
			return s
		}
		first, ok := candidates(s[:at])
		if !ok {
			return s
		}
		if s, ok = raised(s, at, first); !ok {
			return s
		}
		from = at + 2
	}
	return s
}

// unresolved is the index of the next sr at from or behind that is followed by a template.
func unresolved(s string, from int) (at int, ok bool) {
	for i := 0; i < len(s); {
		if i >= from && strings.HasPrefix(s[i:], "sr") {
			end := i + 2
			for end < len(s) && '1' <= s[end] && s[end] <= '9' { // namespaces come before it
				end = identifier(s, end)
			}
			if end > i+2 && end < len(s) && s[end] == 'I' {
				return i, true
			}
		}
		next := token(s, i)
		if next < 0 {
			return 0, false
		}
		i = next
	}
	return 0, false
}

// candidates is how many substitutions the library knows behind the beginning of a name.
func candidates(prefix string) (n int, ok bool) {
	const most = 256
	for ; n < most; n++ {
		if _, err := itanium.ToAST(prefix + "sr" + reference(n)); err != nil && strings.Contains(err.Error(), "substitution index out of range") {
			return n, true
		}
	}
	return 0, false
}

// raised raises the references behind at to substitutions from first on.
func raised(s string, at, first int) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); {
		next := token(s, i)
		if next < 0 {
			return s, false
		}
		if n, ok := referenced(s[i:next]); ok && i > at && n >= first {
			b.WriteString(reference(n + 1))
		} else {
			b.WriteString(s[i:next])
		}
		i = next
	}
	return b.String(), true
}

// token is where what begins at i ends: an identifier with its length, a reference, a
// literal, or a letter. -1: that cannot be said without reading the whole name.
func token(s string, i int) int {
	rest := s[i:]
	switch c := rest[0]; {
	case '0' <= c && c <= '9':
		return identifier(s, i)
	case c == 'S' && len(rest) > 1:
		if end := digitsEnd(rest, 1, true); end < len(rest) && rest[end] == '_' {
			return i + end + 1
		}
		return i + 2
	case c == 'T' || strings.HasPrefix(rest, "fp"):
		from := 1
		if c == 'f' {
			from = 2
		}
		if end := digitsEnd(rest, from, false); end < len(rest) && rest[end] == '_' {
			return i + end + 1
		}
	case c == 'A':
		if end := digitsEnd(rest, 1, false); end > 1 && end < len(rest) && rest[end] == '_' {
			return i + end + 1
		}
	case c == 'L':
		return literal(s, i)
	}
	return i + 1
}

// literal is where the <expr-primary> at i ends, or the letter of one that is a function: L,
// the type, the value and E.
func literal(s string, i int) int {
	at := i + 1
	switch {
	case strings.HasPrefix(s[at:], "_Z") || strings.HasPrefix(s[at:], "Z"):
		return at
	case at < len(s) && s[at] == 'N':
		if at = nested(s, at+1); at < 0 {
			return -1
		}
	case at < len(s) && 'a' <= s[at] && s[at] <= 'z': // a builtin type
		at++
	case at < len(s) && (s[at] == 'S' || '0' <= s[at] && s[at] <= '9'):
		at = token(s, at)
	default:
		return -1
	}
	if end := strings.IndexByte(s[at:], 'E'); end >= 0 && strings.Trim(s[at:at+end], "n0123456789abcdef") == "" {
		return at + end + 1
	}
	return -1
}

// nested is the end of the <nested-name> whose N is before i.
func nested(s string, i int) int {
	for depth := 1; i >= 0 && i < len(s); {
		next := token(s, i)
		if next == i+1 {
			switch s[i] {
			case 'N', 'I', 'J', 'X', 'F':
				depth++
			case 'E':
				if depth--; depth == 0 {
					return next
				}
			}
		}
		i = next
	}
	return -1
}

// identifier is the end of the <source-name> at i, i if there is none.
func identifier(s string, i int) int {
	end := digitsEnd(s, i, false)
	n, err := strconv.Atoi(s[i:end])
	if err != nil || n == 0 || n > len(s)-end {
		return max(end, i+1)
	}
	return end + n
}

// digitsEnd is the end of the digits at i, with letters of a <seq-id>.
func digitsEnd(s string, i int, letters bool) int {
	for i < len(s) && ('0' <= s[i] && s[i] <= '9' || letters && 'A' <= s[i] && s[i] <= 'Z') {
		i++
	}
	return i
}

// reference is the n-th substitution: S_, S0_, ... (section 5.1.10).
func reference(n int) string {
	if n == 0 {
		return "S_"
	}
	return "S" + strings.ToUpper(strconv.FormatInt(int64(n-1), 36)) + "_"
}

// referenced is the inverse of reference.
func referenced(text string) (n int, ok bool) {
	if len(text) < 2 || text[0] != 'S' || text[len(text)-1] != '_' {
		return 0, false
	}
	if text == "S_" {
		return 0, true
	}
	v, err := strconv.ParseUint(strings.ToLower(text[1:len(text)-1]), 36, 16)
	return int(v) + 1, err == nil
}
