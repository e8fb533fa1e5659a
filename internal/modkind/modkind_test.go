package modkind

import "testing"

// TestKinds has files of distributions, and others whose names are like theirs.
func TestKinds(t *testing.T) {
	type kinds struct{ c, linker, musl, cxx, python bool }
	for file, want := range map[string]kinds{
		"/lib/x86_64-linux-gnu/libc.so.6": {c: true},
		"libc-2.31.so":                    {c: true},
		"libpthread-2.31.so":              {c: true},
		"libpthread.so.0":                 {c: true},
		"/lib64/ld-linux-x86-64.so.2":     {c: true, linker: true},
		"ld-2.31.so":                      {c: true, linker: true},
		"ld.so":                           {c: true, linker: true},
		"libc.so":                         {c: true, musl: true},
		"/lib/ld-musl-x86_64.so.1":        {c: true, linker: true, musl: true},
		"libc.musl-x86_64.so.1":           {c: true, musl: true},
		"libc-client.so.2007e":            {},
		"libcrypt.so.1":                   {},
		"ld-program":                      {},
		"":                                {},
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6": {cxx: true},
		"libstdc++.so.6.0.30":                      {cxx: true},
		"libc++.so.1":                              {cxx: true},
		"libc++abi.so.1":                           {},
		"/usr/bin/python3.11":                      {python: true},
		"python3":                                  {python: true},
		"python":                                   {python: true},
		"python3.11-dbg":                           {python: true},
		"python3.14t":                              {python: true},
		"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0":   {python: true},
		"libpython3.11d.so.1.0":                            {python: true},
		"libpython3.so":                                    {python: true},
		"libboost_python311.so.1.74.0":                     {},
		"_python_plugin.cpython-311-x86_64-linux-gnu.so":   {},
		"python3-config":                                   {},
		"/usr/lib/python3/dist-packages/_cffi_backend.so":  {},
		"pythonwrapper.so":                                 {},
		"/usr/lib/x86_64-linux-gnu/libpython_helper.so.1":  {},
		"/opt/python3.11/bin/server":                       {},
		"/usr/lib/x86_64-linux-gnu/libpyside2.cpython.so.": {},
	} {
		if got := (kinds{IsCLibrary(file), IsDynamicLinker(file), IsMusl(file), IsCxxRuntime(file), IsPython(file)}); got != want {
			t.Errorf("%q: %+v, want %+v", file, got, want)
		}
	}
}
