package symbols

import (
	"bytes"
	"strings"

	"hdb/symbols/demangle"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
)

// pattern is a function's name as a user may type it: ns::f, f, f<int>, f(int).
type pattern struct {
	whole  string   // as typed
	parts  []string // components, outermost first, without blanks
	params string   // "(int,char*)" or ""
}

// parsePattern splits a name. It reports false for one that names nothing.
func parsePattern(name string) (pattern, bool) {
	name = shortStrings(strings.TrimPrefix(strings.TrimSpace(name), "::"))
	bare, params := cutParams(name)
	if strings.Contains(name, ".(*") { // a method of Go: main.(*T).Grow
		bare, params = name, ""
	}
	p := pattern{whole: name, parts: splitName(bare), params: squeeze(params)}
	for _, part := range p.parts {
		if part == "" {
			return pattern{}, false
		}
	}
	return p, len(p.parts) > 0
}

// MatchesName reports whether a user who types want means the function that is shown so, with that
// linkage name or "".
func MatchesName(want, function, linkage string) bool {
	if want == "" {
		return false
	}
	if want == function || want == linkage {
		return true
	}
	p, ok := parsePattern(want)
	if !ok {
		return false
	}
	if isMangled(linkage) && p.matchesLinkage(linkage) {
		return true
	}
	bare, params := cutParams(function)
	return p.matchesParts(splitName(bare)) && (p.params == "" || p.params == squeeze(params)) || matchesGo(p.whole, function)
}

// keys are what the name index may have the last component under.
func (p pattern) keys() []string {
	last := p.parts[len(p.parts)-1]
	if i := strings.Index(last, "[abi:"); i > 0 { // DW_AT_name is without
		if end := strings.IndexByte(last[i:], ']'); end > 0 {
			last = last[:i] + last[i+end+1:]
		}
	}
	keys := []string{scope.Key(last)}
	if key := scope.GoKey(p.whole); key != keys[0] {
		keys = append(keys, key)
	}
	if rest, ok := strings.CutPrefix(last, "operator"); ok && len(rest) > 0 && isIdent(rest[0]) {
		keys = append(keys, "operator "+rest) // operator new: blanks were squeezed out
	}
	return keys
}

// matches compares with a function that DWARF describes.
func (p pattern) matches(n *named) bool {
	if n.language == dwarf.LangGo {
		return matchesGo(p.whole, n.Name)
	}
	if isMangled(n.Linkage) {
		if p.matchesLinkage(n.Linkage) {
			return true
		}
		return p.params == "" && p.matchesParts(splitName(n.Name)) // a name that linkage spells otherwise
	}
	if p.params != "" && n.language.Scoped() && n.Name != "main" {
		return false // its parameters are not known: overloads cannot be distinguished
	}
	bare, _ := cutParams(n.function)
	return p.matchesParts(splitName(bare)) || p.whole == n.Name
}

// matchesGo compares with a function of Go: main.(*T).Grow answers to that, to
// main.T.Grow, T.Grow and Grow, with or without the path of its package.
func matchesGo(want, have string) bool {
	strip := strings.NewReplacer("(*", "", ")", "")
	have, _, _ = strings.Cut(have, "[")
	have, want = strip.Replace(have), strip.Replace(want)
	rest, ok := strings.CutSuffix(have, want)
	return ok && (rest == "" || strings.HasSuffix(rest, ".") || strings.HasSuffix(rest, "/"))
}

// matchesLinkage compares with a mangled name.
func (p pattern) matchesLinkage(linkage string) bool {
	bare := demangle.Bare(linkage)
	if bare == linkage || !p.matchesParts(splitName(shortStrings(bare))) {
		return false
	}
	if p.params == "" {
		return true
	}
	_, params := cutParams(demangle.Name(linkage))
	return squeeze(params) == p.params || squeeze(params) == strings.TrimSuffix(p.params, "const")+"const"
}

// matchesParts compares the last components.
func (p pattern) matchesParts(parts []string) bool {
	if len(parts) < len(p.parts) {
		return false
	}
	parts = parts[len(parts)-len(p.parts):]
	for i, want := range p.parts {
		if !matchesPart(want, parts[i]) {
			return false
		}
	}
	return true
}

func matchesPart(want, have string) bool {
	if want == have || strings.Contains(want, "<") && PlainTemplate(want) == PlainTemplate(have) {
		return true
	}
	if i := strings.Index(have, "[abi:"); i > 0 { // std::string::append[abi:cxx11]
		if end := strings.IndexByte(have[i:], ']'); end > 0 && matchesPart(want, have[:i]+have[i+end+1:]) {
			return true
		}
	}
	return scope.Key(have) == want
}

// maybeMangled is a cheap test before demangling: the mangled name has a key's
// letters in it, or the key is an operator, which is encoded.
func maybeMangled(raw []byte, keys []string) bool {
	if !bytes.HasPrefix(raw, []byte("_Z")) && !bytes.HasPrefix(raw, []byte("_R")) {
		return false
	}
	for _, key := range keys {
		key = strings.TrimPrefix(key, "~")
		if strings.HasPrefix(key, "operator") || strings.HasPrefix(key, "{") || bytes.Contains(raw, []byte(key)) {
			return true
		}
	}
	return false
}

func isIdent(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// shortStrings writes the type behind std::string, of the new ABI of libstdc++,
// as users do.
func shortStrings(s string) string {
	return strings.ReplaceAll(s, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
}

// plainWords are the names of C's types as people write them, of those that compilers write.
var plainWords = strings.NewReplacer(
	"long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short")

// PlainTemplate takes spaces and the suffixes of numbers off a template's arguments, and writes unsigned long
// for long unsigned int and char const for const char: compilers, demanglers and people differ in them.
func PlainTemplate(name string) string {
	if !strings.Contains(name, "<") {
		return name
	}
	name = constBehind(plainWords.Replace(name))
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == ' ' && !(i > 0 && i+1 < len(name) && isIdent(name[i-1]) && isIdent(name[i+1])):
			continue
		case c >= '0' && c <= '9' && (i == 0 || !isIdent(name[i-1])):
			end := i
			for end < len(name) && isIdent(name[end]) {
				end++
			}
			b.WriteString(strings.TrimRight(name[i:end], "uUlL"))
			i = end - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// constBehind puts the const in front of an argument's type behind it.
func constBehind(name string) string {
	const word = "const "
	for i := len(name) - len(word); i > 0; i-- { // inner arguments first
		before := strings.TrimRight(name[:i], " ")
		if !strings.HasPrefix(name[i:], word) || !strings.HasSuffix(before, "<") && !strings.HasSuffix(before, ",") {
			continue
		}
		rest := name[i+len(word):]
		end := baseType(rest)
		name = name[:i] + strings.TrimRight(rest[:end], " ") + " const" + rest[end:]
	}
	return name
}

// baseType is where the type ends that a template's argument begins with, without what is declared with it.
func baseType(s string) int {
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '<':
			depth++
		case depth == 0 && strings.IndexByte(">,*&()[", c) >= 0:
			return i
		case c == '>':
			depth--
		}
	}
	return len(s)
}

// squeeze takes out blanks that do not part words, and expands std::string and
// size_t, so that types compare as text.
func squeeze(s string) string {
	s = shortStrings(s)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' {
			if i == 0 || i+1 == len(s) || !isIdent(s[i-1]) || !isIdent(s[i+1]) {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	out := b.String()
	out = strings.ReplaceAll(out, "(void)", "()")
	return strings.ReplaceAll(out, "size_t", "unsigned long")
}

// splitName cuts a qualified name at the :: outside of brackets. Rust's <T>::f
// and <T as Trait>::f count as T::f.
func splitName(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		if depth == 0 {
			if n := scope.OperatorLen(s[i:]); n > 0 && (i == 0 || !isIdent(s[i-1])) {
				i += n - 1
				continue
			}
		}
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			if !(s[i] == '>' && i > 0 && s[i-1] == '-') { // Rust's fn() -> T
				depth = max(depth-1, 0)
			}
		case ':':
			if depth == 0 && i+1 < len(s) && s[i+1] == ':' {
				parts = appendPart(parts, s[start:i])
				i++
				start = i + 1
			}
		}
	}
	return appendPart(parts, s[start:])
}

func appendPart(parts []string, part string) []string {
	if len(parts) == 0 && len(part) > 2 && part[0] == '<' && part[len(part)-1] == '>' {
		inner := part[1 : len(part)-1]
		if i := strings.Index(inner, " as "); i > 0 {
			inner = inner[:i]
		}
		if inner[0] != '<' {
			return splitName(inner)
		}
	}
	return append(parts, squeeze(part))
}

// cutParams cuts the parameters, with what follows them, from the name of a
// function. The parentheses of operator() and (anonymous namespace) are not those.
func cutParams(s string) (name, params string) {
	depth := 0
	for i := 0; i < len(s); i++ {
		if depth == 0 {
			if n := scope.OperatorLen(s[i:]); n > 0 && (i == 0 || !isIdent(s[i-1])) {
				i += n - 1
				continue
			}
		}
		switch s[i] {
		case '<', '[', '{':
			depth++
		case '>', ']', '}':
			depth = max(depth-1, 0)
		case '(':
			if depth > 0 {
				break
			}
			end := closing(s, i)
			if end < 0 || !strings.HasPrefix(s[end:], ")::") {
				return s[:i], s[i:]
			}
			i = end
		}
	}
	return s, ""
}

// closing is the index of the parenthesis that closes the one at i, -1 without.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// cutFile cuts a file from the front of file.c:function.
func cutFile(s string) (file, function string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i <= 0 || i+1 == len(s) || s[i+1] == ':' || !strings.Contains(s[:i], ".") {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}
