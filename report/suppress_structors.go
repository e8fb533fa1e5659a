package report

import (
	"strconv"
	"strings"
)

// structorVariants are the other names that a constructor or destructor of C++ may have in a symbol table.
// Of those for complete objects (C1, D1) and for base classes (C2, D2) a compiler makes one function
// where they do the same; debug information has C4 and D4 for either. See the Itanium C++ ABI, section
// 5.1.4.3. The deleting destructor (D0) is a function of its own.
func structorVariants(linkage string) []string {
	places := structors(linkage)
	if len(places) == 0 {
		return nil
	}
	var all []string
	for _, variant := range "1234" {
		b := []byte(linkage)
		for _, at := range places {
			b[at] = byte(variant)
		}
		if string(b) != linkage {
			all = append(all, string(b))
		}
	}
	return all
}

// structors are the indexes of the digits of C1 to C5, D1, D2, D4 and D5 in a mangled name.
func structors(linkage string) (places []int) {
	rest, ok := strings.CutPrefix(linkage, "_Z")
	if !ok {
		return nil
	}
	for rest != "" {
		switch c := rest[0]; {
		case c >= '0' && c <= '9': // an identifier with its length in front
			digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			n, err := strconv.Atoi(rest[:digits])
			if err != nil || n > len(rest)-digits {
				return places
			}
			rest = rest[digits+n:]
		case c == 'S' || c == 'T': // a substitution or a parameter of a template: S_, S1A_, T0_; St and the like have no digits
			rest = strings.TrimLeft(rest[1:], "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		case c == 'L' && len(rest) > 1 && rest[1] >= 'a' && rest[1] <= 'z': // a literal: Li5E, Lin5E
			rest = strings.TrimLeft(strings.TrimPrefix(rest[2:], "n"), "0123456789")
		case len(rest) > 2 && (c == 'C' && strings.IndexByte("12345", rest[1]) >= 0 || c == 'D' && strings.IndexByte("1245", rest[1]) >= 0) && (rest[2] == 'E' || rest[2] == 'B'):
			places = append(places, len(linkage)-len(rest)+1)
			rest = rest[2:]
		default:
			rest = rest[1:]
		}
	}
	return places
}
