// Package layout has the offsets and sizes in the structures of CPython, by version, and decodes those whose form
// differs between versions: the keys of dicts, the attributes of objects, the states of str and int objects.
//
// Offsets and sizes are in bytes. A field that a version does not have is 0. What no version changes is a
// constant.
//
// The sources are CPython's own headers of each version: Include/internal/pycore_runtime.h, pycore_interp.h,
// pycore_frame.h, pycore_dict.h, pycore_obmalloc.h, Include/cpython/*.h, and the C files of the objects.
package layout
