package testprogs

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// debianPackage names the Debian package of each tool, library and header that a test
// may miss.
func debianPackage(thing string) string {
	switch thing {
	case "gcc", "g++", "gdb", "valgrind", "heaptrack", "git", "perl", "tmux", "sqlite3", "rustc", "clang", "make":
		return thing
	case "strip", "readelf", "objdump", "objcopy", "addr2line", "nm":
		return "binutils"
	case "musl-gcc":
		return "musl-tools"
	case "python3", "cython3":
		return thing
	case "xmllint":
		return "libxml2-utils"
	case "eu-readelf", "eu-addr2line", "eu-stack":
		return "elfutils"
	case "llvm-dwarfdump", "llvm-symbolizer":
		return "llvm"
	case "node":
		return "nodejs"
	case "dpkg-source":
		return "dpkg-dev"
	case "jemalloc":
		return "libjemalloc-dev"
	case "tcmalloc", "tcmalloc_minimal":
		return "libgoogle-perftools-dev"
	case "mimalloc":
		return "libmimalloc-dev"
	case "clang_rt":
		return "libclang-rt-14-dev"
	case "stdc++":
		return "g++"
	case "Python.h":
		return "python3-dev"
	}
	return ""
}

// Tool returns the path of an outside tool; a missing one fails the test
// and names the Debian package that has it.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v%s", err, remedy(name, err, ""))
	}
	return path
}

// Library returns the path of a shared library, NAME of libNAME.so; a missing one fails the test and names its Debian package.
func Library(t testing.TB, name string) string {
	t.Helper()
	said, err := exec.Command(Tool(t, "gcc"), "-print-file-name=lib"+name+".so").Output()
	if err != nil {
		t.Fatalf("lib%s.so: gcc -print-file-name: %v", name, err)
	}
	path := strings.TrimSpace(string(said))
	if !filepath.IsAbs(path) {
		t.Fatalf("lib%s.so: not found%s", name, install(name))
	}
	return path
}

var (
	missingLibrary = regexp.MustCompile(`cannot find (?:-l|/\S*/lib)(clang_rt|\S+?)(?:\.|:? )`)
	missingHeader  = regexp.MustCompile(`fatal error: (\S+\.h): No such file`)
)

// remedy is the next step after a tool was missing or missed a library or header, to
// follow the error's text; empty when there is none to offer.
func remedy(tool string, err error, output string) string {
	thing := ""
	if errors.Is(err, exec.ErrNotFound) {
		thing = tool
	} else if m := missingLibrary.FindStringSubmatch(output); m != nil {
		thing = m[1]
	} else if m := missingHeader.FindStringSubmatch(output); m != nil {
		thing = m[1]
	}
	return install(thing)
}

// install names the Debian package of a tool or library; empty when none is known.
func install(thing string) string {
	if pkg := debianPackage(thing); pkg != "" {
		return fmt.Sprintf(" (apt-get install %s)", pkg)
	}
	return ""
}
