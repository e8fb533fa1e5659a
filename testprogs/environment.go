package testprogs

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A test must not depend on whose machine it runs on. What it starts inherits
// this process's environment, so a test that imports this package gets the
// same one everywhere: variables that change what compilers, hdb, gdb and the
// C library do are set or gone before any test runs. PATH, HOME, TMPDIR and
// where Go keeps its modules stay the user's.
//
// A test that runs its own binary again has chosen what that one inherits:
// the mark tells it so.
func init() {
	const mark = "TESTPROGS_ENVIRONMENT"
	if !testing.Testing() || os.Getenv(mark) != "" {
		return
	}
	os.Setenv(mark, "set")
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); personal(name) {
			os.Unsetenv(name)
		}
	}
	for name, value := range map[string]string{
		// Neither go env -w nor the user's flags decide how programs are built.
		"GOFLAGS": "-buildvcs=false",
		"LC_ALL":  "C.UTF-8",
		"TERM":    "dumb",
		"TZ":      "UTC",
	} {
		os.Setenv(name, value)
	}
	syscall.Umask(0o022)
}

// personal reports whether tests do without the variable.
func personal(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "COLUMNS", "LINES", "COLORTERM", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR",
		"PAGER", "LESS", "EDITOR", "VISUAL", "BROWSER", "SHELL", "PS1", "ENV", "BASH_ENV",
		"CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "RUSTFLAGS",
		"CGO_ENABLED", "GOOS", "GOARCH", "GOAMD64", "GOEXPERIMENT", "GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK",
		"GLIBC_TUNABLES", "PYTHONPATH", "PYTHONHOME", "PYTHONMALLOC", "PERL5LIB", "PERL5OPT", "NODE_OPTIONS",
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "HDB_HISTFILE":
		return true
	}
	for _, prefix := range []string{"LC_", "LD_", "DEBUGINFOD_", "MALLOC_", "ASAN_", "TSAN_", "GIT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
