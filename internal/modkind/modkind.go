// Package modkind tells what a module of a program is by the name of its file: a part of the C
// library, the dynamic linker, a C++ runtime, CPython. A name says what a distribution's file is called and no more: who
// has the symbols or the layout of the module asks these first.
package modkind

import (
	"path"
	"strings"

	"hdb/internal/lazyregexp"
)

// IsCLibrary reports whether a file is a part of the C library, or the dynamic linker.
func IsCLibrary(file string) bool {
	base := path.Base(file)
	return IsMusl(base) || begins(base, "libc") || begins(base, "libpthread") || IsDynamicLinker(base)
}

// IsDynamicLinker reports whether a file is the dynamic linker.
func IsDynamicLinker(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "ld-musl-") || begins(base, "ld")
}

// begins reports whether a library of glibc has a base name that begins so: libc.so.6, libc-2.31.so, ld-linux-x86-64.so.2.
func begins(base, name string) bool {
	rest, ok := strings.CutPrefix(base, name)
	return ok && (strings.HasPrefix(rest, ".so") || strings.HasPrefix(rest, "-2.") || strings.HasPrefix(rest, "-linux"))
}

// IsMusl reports whether a file is musl, which is C library and dynamic linker in one: libc.so, or a link to that.
// glibc's is libc.so.6.
func IsMusl(file string) bool {
	base := path.Base(file)
	return base == "libc.so" || strings.HasPrefix(base, "ld-musl-") || strings.HasPrefix(base, "libc.musl-")
}

// IsCxxRuntime reports whether a file is libstdc++ or libc++, which have operator new and delete.
func IsCxxRuntime(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "libstdc++.") || strings.HasPrefix(base, "libc++.")
}

// python matches the files that CPython comes in: python3.11, python3.13t, python3-dbg, libpython3.11d.so.1.0. Others
// have its name within theirs, as libboost_python311.so.
var python = lazyregexp.New(`^(python|libpython)[0-9]*(\.[0-9]+)*[a-z]{0,3}(-dbg|-debug|-intel64)?(\.so[.0-9]*)?$`)

// IsPython reports whether a file is CPython: the program or its library. A program that embeds it statically has
// another name.
func IsPython(file string) bool {
	base := path.Base(file)
	return strings.Contains(base, "python") && python().MatchString(base)
}
