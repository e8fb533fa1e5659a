package printers

import (
	"strings"

	"hdb/internal/lazyregexp"
)

// anyInline finds the inline namespace of libc++ anywhere in a name.
var anyInline = lazyregexp.New(`\bstd::__(ndk)?[0-9]+::`)

// shorten leaves out the default allocators, comparisons and deleters in names of C++'s
// library, as gdb's type printers do.
func shorten(name string) string {
	if !strings.Contains(name, "std::") {
		return name
	}
	if strings.Contains(name, "std::__") {
		name = anyInline().ReplaceAllString(name, "std::")
		name = strings.ReplaceAll(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
	}
	name = strings.ReplaceAll(name, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
	name = strings.ReplaceAll(name, "std::basic_string_view<char, std::char_traits<char> >", "std::string_view")
	name = strings.ReplaceAll(strings.ReplaceAll(name, "std::string >", "std::string>"), "std::string_view >", "std::string_view>")
	for _, arg := range []string{", std::allocator<", ", std::default_delete<", ", std::less<", ", std::hash<", ", std::equal_to<", ", std::char_traits<"} {
		for range 64 {
			i := strings.Index(name, arg)
			if i < 0 {
				break
			}
			depth, end := 0, -1
			for j := i + len(arg) - 1; j < len(name) && end < 0; j++ {
				switch name[j] {
				case '<':
					depth++
				case '>':
					if depth--; depth == 0 {
						end = j + 1
					}
				}
			}
			if end < 0 {
				return name
			}
			rest := strings.TrimPrefix(name[end:], " ")
			if !strings.HasPrefix(rest, ">") {
				rest = name[end:]
			} else if name[i-1] == '>' {
				rest = " " + rest
			}
			name = name[:i] + rest
		}
	}
	return name
}
