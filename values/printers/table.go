// Package printers describes what the values of libraries hold: containers, strings and
// smart pointers of libstdc++, of libc++ and of Rust's library.
//
// A printer finds the members that its library gives a class. How its description
// becomes text is up to package values. The inferior's memory is not trusted: walks
// through it are bounded, and a value without the expected members is not described at
// all, so that it is printed as the struct that it is.
package printers

import (
	"regexp"
	"strings"

	"hdb/values"
)

// Table is the table of all printers.
type Table struct{}

var _ values.Printers = Table{}

// Printer is the printer of values of a type without typedefs and qualifiers, nil for
// none.
func (Table) Printer(t *values.Type) *values.Printer {
	if t.Rust() {
		return rustPrinter(t)
	}
	name, llvm := className(t)
	if llvm {
		return libcxx[name]
	}
	return libstdcxx[name]
}

// TypeName is a type's name without default arguments of C++'s library.
func (Table) TypeName(name string) string { return shorten(name) }

// inlineNamespace is that of libc++: __1, or __ndk1 on Android.
var inlineNamespace = regexp.MustCompile(`^std::__(ndk)?[0-9]+::`)

// className is the name of a class of C++'s library without std:: and template
// arguments, "" for another type. llvm tells that the library is libc++.
func className(t *values.Type) (name string, llvm bool) {
	if prefix := inlineNamespace.FindString(t.Name); prefix != "" {
		return plain(t.Name[len(prefix):]), true
	}
	std, ok := strings.CutPrefix(plain(t.Name), "std::")
	if !ok {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(std, "__cxx11::"), "__debug::"), false
}

// plain is a name up to its template arguments.
func plain(name string) string {
	name, _, _ = strings.Cut(name, "<")
	return name
}

// libstdcxx are the printers of the classes of libstdc++.
var libstdcxx = map[string]*values.Printer{
	"basic_string":       {Display: stdString, Element: stringElement},
	"basic_string_view":  {Display: stringView, Element: viewElement},
	"vector":             {Display: stdVector, Element: stdVectorElement},
	"array":              {Element: arrayElement},
	"map":                {Display: stdTree},
	"multimap":           {Display: stdTree},
	"set":                {Display: stdTree},
	"multiset":           {Display: stdTree},
	"unordered_map":      {Display: stdHash},
	"unordered_multimap": {Display: stdHash},
	"unordered_set":      {Display: stdHash},
	"unordered_multiset": {Display: stdHash},
	"unique_ptr":         {Display: unique, Pointer: owned},
	"shared_ptr":         {Display: stdShared, Pointer: stdSharedPointer},
	"weak_ptr":           {Display: stdShared},
	"optional":           {Display: stdOptional, Pointer: stdOptionalPointer},
	"variant":            {Display: stdVariant},
	"tuple":              {Display: stdTuple},
	"pair":               {Display: pair},
	"list":               {Display: stdList},
	"deque":              {Display: deque, Element: dequeElement},
}

// libcxx are the printers of the classes of libc++, whose members have other names.
var libcxx = map[string]*values.Printer{
	"basic_string":       {Display: cxxString, Element: cxxStringElement},
	"basic_string_view":  {Display: stringView, Element: viewElement},
	"vector":             {Display: cxxVector, Element: cxxVectorElement},
	"array":              {Element: arrayElement},
	"map":                {Display: cxxTree},
	"multimap":           {Display: cxxTree},
	"set":                {Display: cxxTree},
	"multiset":           {Display: cxxTree},
	"unordered_map":      {Display: cxxHash},
	"unordered_multimap": {Display: cxxHash},
	"unordered_set":      {Display: cxxHash},
	"unordered_multiset": {Display: cxxHash},
	"unique_ptr":         {Display: unique, Pointer: owned},
	"shared_ptr":         {Display: cxxShared, Pointer: cxxSharedPointer},
	"weak_ptr":           {Display: cxxShared},
	"optional":           {Display: cxxOptional, Pointer: cxxOptionalPointer},
	"variant":            {Display: cxxVariant},
	"tuple":              {Display: cxxTuple},
	"pair":               {Display: pair},
	"list":               {Display: cxxList},
	"deque":              {Display: deque, Element: dequeElement},
}
