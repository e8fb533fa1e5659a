// Package symbols turns addresses of an ELF file into functions, inlined frames
// and source lines, and names back into addresses.
//
// An Object is one file together with the debug file found for it. It has parts: the
// File (identity, sections, bytes), the Symtab, the DWARF (units, scopes, types) and the
// Lines. Its own methods answer from all of them. Opening maps the files and reads
// headers only: unit headers, line tables, function
// trees and the name index are each read when first asked for. An Object and
// the values it returns are safe for any number of goroutines until Close,
// which ends all use of them. A mapped file may be cut while it is open: methods
// then answer with what they had, and nothing faults. Strings and slices that methods
// return are copies unless their comment says otherwise.
//
// A MachO is a file of macOS, with less to ask for.
//
// The folders below hold one format each: elf, macho, dwarf (units and entries),
// dwarf/line, dwarf/scope (function trees and names), demangle.
package symbols
