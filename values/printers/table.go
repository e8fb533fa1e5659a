// Package printers describes what the values of libraries hold: containers, iterators,
// smart pointers and other classes of libstdc++, of libc++ and of Rust's library
// (docs/values.md lists them).
//
// A printer finds the members that its library gives a class. How its description
// becomes text is up to package values. The inferior's memory is not trusted: walks
// through it are bounded, and a value without the expected members is not described at
// all, so that it is printed as the struct that it is.
package printers

import (
	"strings"

	"hdb/internal/lazyregexp"
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
	own := libstdcxx
	if llvm {
		own = libcxx
	}
	if p, ok := own[name]; ok {
		return p
	}
	return common[name]
}

// TypeName is a type's name without default arguments of C++'s library.
func (Table) TypeName(name string) string { return shorten(name) }

// inlineNamespace is the inline namespace of libc++: __1, or __ndk1 on Android.
var inlineNamespace = lazyregexp.New(`^std::__(ndk)?[0-9]+::`)

// className is the name of a class of C++'s library without std:: and template
// arguments, "" for another type. llvm tells that the library is libc++.
func className(t *values.Type) (name string, llvm bool) {
	if prefix := inlineNamespace().FindString(t.Name); prefix != "" {
		return plain(t.Name[len(prefix):]), true
	}
	std, ok := strings.CutPrefix(plain(t.Name), "std::")
	if it, found := strings.CutPrefix(std, "__gnu_cxx::"); found {
		return it, false
	}
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

// common are the printers of classes that have the same members in both libraries of C++, or
// that ask for the members of either.
var common = map[string]*values.Printer{
	"basic_string_view":  {Display: stringView, Element: viewElement},
	"array":              {Element: arrayElement, Method: arraySize},
	"unique_ptr":         {Display: unique, Pointer: owned, Element: ownedElement},
	"pair":               {Display: pair},
	"deque":              {Display: deque, Element: dequeElement},
	"span":               {Display: span, Element: spanElement},
	"initializer_list":   {Display: initializerList},
	"bitset":             {Display: bitset},
	"stack":              adapter(map[string]string{"top": "back"}),
	"queue":              adapter(map[string]string{"front": "front", "back": "back"}),
	"priority_queue":     adapter(map[string]string{"top": "front"}),
	"atomic":             {Display: atomic, Method: loaded},
	"reference_wrapper":  {Display: reference, Pointer: referenced, Method: referencedObject},
	"complex":            {Display: complexNumber},
	"error_code":         {Display: errorCode("system")},
	"error_condition":    {Display: errorCode("generic")},
	"mutex":              {Display: mutex},
	"recursive_mutex":    {Display: mutex},
	"thread":             {Display: thread},
	"thread::id":         {Display: thread},
	"condition_variable": {Display: condition},
	"chrono::duration":   {Display: duration, Method: durationCount},
	"chrono::time_point": {Display: timePoint},
	"partial_ordering":   ordering("partial_ordering"),
	"weak_ordering":      ordering("weak_ordering"),
	"strong_ordering":    ordering("strong_ordering"),
}

// libstdcxx are the printers of the classes of libstdc++.
var libstdcxx = map[string]*values.Printer{
	"basic_string":              {Display: stdString, Element: stringElement},
	"vector":                    {Display: stdVector, Element: stdVectorElement},
	"map":                       {Display: stdTree, Keyed: true},
	"multimap":                  {Display: stdTree, Keyed: true},
	"set":                       {Display: stdTree},
	"multiset":                  {Display: stdTree},
	"unordered_map":             {Display: stdHash, Keyed: true},
	"unordered_multimap":        {Display: stdHash, Keyed: true},
	"unordered_set":             {Display: stdHash},
	"unordered_multiset":        {Display: stdHash},
	"shared_ptr":                {Display: stdShared, Pointer: stdSharedPointer, Method: useCount(stdCounts)},
	"weak_ptr":                  {Display: stdShared},
	"optional":                  {Display: stdOptional, Pointer: stdOptionalPointer, Method: engagedMethods(stdOptional)},
	"variant":                   {Display: stdVariant},
	"tuple":                     {Display: stdTuple},
	"list":                      {Display: stdList},
	"forward_list":              {Display: stdForward, Method: forwardEmpty(stdForward)},
	"any":                       anyOf(stdAnyValue),
	"function":                  {Display: stdFunction},
	"filesystem::__cxx11::path": {Display: stdPath, Method: pathMethods},
	"timed_mutex":               {Display: mutex},
	"recursive_timed_mutex":     {Display: mutex},
	"shared_mutex":              {Display: stdSharedMutex},
	"shared_timed_mutex":        {Display: stdSharedMutex},

	"__normal_iterator":              iterator(pointerCursor("std::vector", "_M_current")),
	"_List_iterator":                 iterator(listCursor("_M_node", "_Tp", 0)),
	"_List_const_iterator":           iterator(listCursor("_M_node", "_Tp", 0)),
	"_Fwd_list_iterator":             iterator(forwardCursor("std::forward_list", "_M_node", behindHead("_Tp", 8))),
	"_Fwd_list_const_iterator":       iterator(forwardCursor("std::forward_list", "_M_node", behindHead("_Tp", 8))),
	"_Rb_tree_iterator":              iterator(stdTreeCursor),
	"_Rb_tree_const_iterator":        iterator(stdTreeCursor),
	"_Deque_iterator":                iterator(pointerCursor("std::deque", "_M_cur")),
	"__detail::_Node_iterator":       iterator(forwardCursor("unordered container", "_M_cur", behindHead("_Value", 8))),
	"__detail::_Node_const_iterator": iterator(forwardCursor("unordered container", "_M_cur", behindHead("_Value", 8))),
	"_Bit_iterator":                  bitIterator("non-dereferenceable iterator for std::vector<bool>", "_M_p", "_M_offset", ""),
	"_Bit_const_iterator":            bitIterator("non-dereferenceable iterator for std::vector<bool>", "_M_p", "_M_offset", ""),
	"_Bit_reference":                 bitIterator("invalid std::vector<bool>::reference", "_M_p", "", "_M_mask"),
}

// libcxx are the printers of the classes of libc++, whose members have other names.
var libcxx = map[string]*values.Printer{
	"basic_string":           {Display: cxxString, Element: cxxStringElement},
	"vector":                 {Display: cxxVector, Element: cxxVectorElement},
	"map":                    {Display: cxxTree, Keyed: true},
	"multimap":               {Display: cxxTree, Keyed: true},
	"set":                    {Display: cxxTree},
	"multiset":               {Display: cxxTree},
	"unordered_map":          {Display: cxxHash, Keyed: true},
	"unordered_multimap":     {Display: cxxHash, Keyed: true},
	"unordered_set":          {Display: cxxHash},
	"unordered_multiset":     {Display: cxxHash},
	"shared_ptr":             {Display: cxxShared, Pointer: cxxSharedPointer, Method: useCount(cxxCounts)},
	"weak_ptr":               {Display: cxxShared},
	"optional":               {Display: cxxOptional, Pointer: cxxOptionalPointer, Method: engagedMethods(cxxOptional)},
	"variant":                {Display: cxxVariant},
	"tuple":                  {Display: cxxTuple},
	"list":                   {Display: cxxList},
	"__thread_id":            {Display: thread},
	"forward_list":           {Display: cxxForward, Method: forwardEmpty(cxxForward)},
	"any":                    anyOf(cxxAnyValue),
	"function":               {Display: cxxFunction},
	"__fs::filesystem::path": {Display: cxxPath, Method: pathMethods},
	"filesystem::path":       {Display: cxxPath, Method: pathMethods},

	"__wrap_iter":                   iterator(pointerCursor("std::vector", "__i_", "__i")),
	"__list_iterator":               iterator(listCursor("__ptr_", "_Tp", 8)),
	"__list_const_iterator":         iterator(listCursor("__ptr_", "_Tp", 8)),
	"__forward_list_iterator":       iterator(forwardCursor("std::forward_list", "__ptr_", cxxForwardValue)),
	"__forward_list_const_iterator": iterator(forwardCursor("std::forward_list", "__ptr_", cxxForwardValue)),
	"__tree_iterator":               iterator(cxxTreeCursor),
	"__tree_const_iterator":         iterator(cxxTreeCursor),
	"__map_iterator":                iterator(wrapped("__i_", cxxTreeCursor)),
	"__map_const_iterator":          iterator(wrapped("__i_", cxxTreeCursor)),
	"__hash_iterator":               iterator(cxxHashCursor),
	"__hash_const_iterator":         iterator(cxxHashCursor),
	"__hash_map_iterator":           iterator(wrapped("__i_", cxxHashCursor)),
	"__hash_map_const_iterator":     iterator(wrapped("__i_", cxxHashCursor)),
	"__deque_iterator":              iterator(pointerCursor("std::deque", "__ptr_")),
	"__bit_iterator":                bitIterator("non-dereferenceable iterator for std::vector<bool>", "__seg_", "__ctz_", ""),
	"__bit_reference":               bitIterator("invalid std::vector<bool>::reference", "__seg_", "", "__mask_"),
}
