package breakpoints

import "testing"

func TestCLibraries(t *testing.T) {
	for base, want := range map[string]struct{ c, musl bool }{
		"libc.so.6":             {true, false},
		"libc-2.31.so":          {true, false},
		"libpthread-2.31.so":    {true, false},
		"ld-linux-x86-64.so.2":  {true, false},
		"ld-2.31.so":            {true, false},
		"libc.so":               {true, true},
		"ld-musl-x86_64.so.1":   {true, true},
		"libc.musl-x86_64.so.1": {true, true},
		"libc-client.so.2007e":  {},
		"libcrypt.so.1":         {},
		"ld-program":            {},
	} {
		if c, musl := IsCLibrary(base), IsMusl(base); c != want.c || musl != want.musl {
			t.Errorf("%s: C library %v, musl %v", base, c, musl)
		}
	}
}
