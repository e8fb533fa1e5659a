package symbols_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hdb/testprogs"
)

// combo is a compiler and the version of DWARF that it is told to write.
type combo struct{ compiler, version string }

func (c combo) String() string { return c.compiler + " " + c.version }

func (c combo) cpp() bool { return c.compiler == "g++" || c.compiler == "clang++" }

var combos = []combo{
	{"g++", "4"}, {"g++", "5"}, {"clang++", "4"}, {"clang++", "5"}, {"rustc", "4"}, {"rustc", "5"}, {"go", "4"}, {"go", "5"},
}

// build compiles a program of at least two units, optimized unless the flags say
// otherwise. All have .debug_aranges when their compiler can write it: eu-addr2line finds
// nothing without.
func (c combo) build(t testing.TB, more ...string) string {
	t.Helper()
	switch c.compiler {
	case "go":
		return goProgram(t, c.version, more...)
	case "rustc":
		return crate(t, c.version, more...)
	}
	flags := []string{"-g", "-O2", "-gdwarf-" + c.version}
	if c.compiler == "clang++" && strings.HasPrefix(strings.Join(more, " "), "-flto") {
		flags = append(flags, "-fuse-ld=gold", "-Wl,-plugin-opt,-generate-arange-section")
	} else if c.compiler == "clang++" {
		flags = append(flags, "-gdwarf-aranges")
	}
	return pair(t, c.compiler, append(flags, more...)...)
}

// crate compiles more.rs in a directory of its own. Old versions of rustc know some
// of the flags as unstable ones only.
func crate(t testing.TB, version string, flags ...string) string {
	t.Helper()
	return made(t, "crate "+version+" "+strings.Join(flags, " "), func() string {
		dir, err := os.MkdirTemp(builds.dir, "crate")
		if err != nil {
			t.Fatal(err)
		}
		copyTo(t, filepath.Join("testdata", "more.rs"), filepath.Join(dir, "more.rs"))
		args := []string{"-Zunstable-options", "-g", "-C", "llvm-args=-generate-arange-section", "-o", "prog"}
		if !strings.Contains(strings.Join(flags, " "), "opt-level") {
			args = append(args, "-C", "opt-level=2")
		}
		args = append(args, dwarfFlag(t, version)...)
		runIn(t, dir, "rustc", append(append(args, flags...), "more.rs")...)
		return filepath.Join(dir, "prog")
	})
}

// dwarfFlag is what makes rustc write that version: -C dwarf-version since 1.88, -Z since
// 1.64, and before there is version 4 only.
func dwarfFlag(t testing.TB, version string) []string {
	t.Helper()
	switch minor := rustMinor(t); {
	case minor < 64:
		return nil
	case minor < 88:
		return []string{"-Z", "dwarf-version=" + version}
	}
	return []string{"-C", "dwarf-version=" + version}
}

func rustMinor(t testing.TB) int {
	t.Helper()
	m := rustVersion.FindStringSubmatch(run(t, "rustc", "--version"))
	if m == nil {
		t.Fatal("rustc does not say its version")
	}
	minor, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return minor
}

var rustVersion = regexp.MustCompile(`^rustc 1\.(\d+)`)

// goProgram builds mix.go.txt, with flags for "go build".
func goProgram(t testing.TB, version string, flags ...string) string {
	t.Helper()
	return made(t, "go "+version+" "+strings.Join(flags, " "), func() string {
		dir, err := os.MkdirTemp(builds.dir, "go")
		if err != nil {
			t.Fatal(err)
		}
		copyTo(t, filepath.Join("testdata", "mix.go.txt"), filepath.Join(dir, "mix.go"))
		args := append(append([]string{"build"}, flags...), "-o", "prog", "mix.go")
		if version == "4" {
			args = append([]string{"GOEXPERIMENT=nodwarf5", "go"}, args...)
			runIn(t, dir, "env", args...)
		} else {
			runIn(t, dir, "go", args...)
		}
		return filepath.Join(dir, "prog")
	})
}

// form is a way in which debug information reaches a user.
type form struct {
	name  string
	build func(t *testing.T, c combo) string
	short []string // the combos that are compared with -short
	names bool     // names of functions only: there are no lines
}

var forms = []form{
	{name: "plain", short: []string{"g++ 5", "go 5"}, build: func(t *testing.T, c combo) string { return c.build(t) }},
	{name: "O0", build: func(t *testing.T, c combo) string { return c.build(t, unoptimized(c)...) }},
	{name: "split", short: []string{"clang++ 4"}, build: func(t *testing.T, c combo) string { return c.build(t, split(c)...) }},
	{name: "dwp", short: []string{"clang++ 4"}, build: packed},
	{name: "dwp of binutils", build: func(t *testing.T, c combo) string { return packedBy(t, c, "dwp") }},
	{name: "dwp of rustc", build: packedByRustc},
	{name: "zlib", build: squeezed("zlib-gabi")},
	{name: "zdebug", short: []string{"go 4"}, build: squeezed("zlib-gnu")},
	{name: "zstd", short: []string{"g++ 5"}, build: squeezed("zstd")},
	{name: "dwz", short: []string{"g++ 5"}, build: func(t *testing.T, c combo) string {
		prog := copyProg(t, c.build(t, uncompressed(c)...))
		run(t, "dwz", prog)
		return prog
	}},
	{name: "debuglink", short: []string{"rustc 4"}, build: func(t *testing.T, c combo) string {
		prog := copyProg(t, c.build(t))
		run(t, "objcopy", "--only-keep-debug", prog, prog+".dbg")
		run(t, "strip", prog)
		run(t, "objcopy", "--add-gnu-debuglink="+prog+".dbg", prog)
		return prog
	}},
	{name: "symtab only", short: []string{"rustc 5"}, names: true, build: func(t *testing.T, c combo) string {
		if c.compiler == "go" {
			return c.build(t, "-ldflags=-w")
		}
		prog := copyProg(t, c.build(t))
		run(t, "strip", "-g", prog)
		return prog
	}},
	{name: "stripped", short: []string{"go 5"}, names: true, build: func(t *testing.T, c combo) string {
		if c.compiler == "go" {
			return c.build(t, "-ldflags=-s -w")
		}
		prog := copyProg(t, c.build(t, exported(c)...))
		run(t, "strip", prog)
		return prog
	}},
	{name: "MiniDebugInfo", short: []string{"g++ 5"}, names: true, build: func(t *testing.T, c combo) string { return miniDebug(t, c.build(t)) }},
	{name: "LTO", build: func(t *testing.T, c combo) string {
		if c.compiler == "rustc" {
			return c.build(t, "-C", "lto=fat")
		}
		return c.build(t, "-flto")
	}},
	{name: "split LTO", build: func(t *testing.T, c combo) string {
		if c.compiler == "rustc" {
			return c.build(t, "-C", "lto=fat", "-C", "split-debuginfo=unpacked")
		}
		return splitLTO(t, c, "-flto")
	}},
	{name: "split LTO with references", build: func(t *testing.T, c combo) string {
		return splitLTO(t, c, "-flto", referring)
	}},
	{name: "split ThinLTO", build: func(t *testing.T, c combo) string {
		if c.compiler == "rustc" {
			return c.build(t, "-C", "lto=thin", "-C", "split-debuginfo=unpacked")
		}
		return splitLTO(t, c, "-flto=thin")
	}},
	{name: "function-sections", build: func(t *testing.T, c combo) string {
		if c.compiler == "rustc" {
			return c.build(t, "-Z", "function-sections=no")
		}
		return c.build(t, "-ffunction-sections", "-Wl,--gc-sections")
	}},
	{name: "stripped PIE of another linker", names: true, build: func(t *testing.T, c combo) string {
		return c.build(t, "-buildmode=pie", "-ldflags=-linkmode=external -s -w")
	}},
	{name: "PIE of another linker", build: func(t *testing.T, c combo) string {
		if c.compiler == "go" {
			return c.build(t, "-buildmode=pie", "-ldflags=-linkmode=external")
		}
		return c.build(t, lld(c)...)
	}},
}

// nothing says why no tool makes a cell of the matrix, "" for those that exist.
func nothing(t testing.TB, c combo, form string) string {
	split := strings.Contains(form, "split") || strings.HasPrefix(form, "dwp")
	switch {
	case c.compiler == "rustc" && c.version == "5" && rustMinor(t) < 64:
		return "rustc before 1.64 writes DWARF 4 only"
	case c.compiler == "go" && (split || form == "LTO" || form == "function-sections"):
		return "go has no such form"
	case c.compiler != "go" && form == "stripped PIE of another linker":
		return "only Go keeps a table of its own: stripped is the same here"
	case c.compiler == "g++" && strings.HasPrefix(form, "split ") || c.compiler == "rustc" && form == "split LTO with references":
		return "the compiler has no such form: gcc ignores -gsplit-dwarf with -flto"
	case form == "dwp of binutils" && (c.version == "5" || c.compiler == "rustc"):
		return "binutils 2.40 knows no DWARF 5; rustc packs itself"
	case form == "dwp" && c == combo{"g++", "5"}:
		return "llvm-dwp 14 to 22 lose their way in abbreviations with DW_FORM_implicit_const; see TestPackagers and dwp of rustc"
	case form == "dwp of rustc" && c.compiler == "rustc":
		return "that is dwp"
	case form == "dwz" && c.version == "5" && c.compiler != "g++":
		return "dwz 0.15 refuses DW_FORM_strx and .debug_addr"
	}
	return ""
}

func unoptimized(c combo) []string {
	switch c.compiler {
	case "go":
		return []string{"-gcflags=all=-N -l"}
	case "rustc":
		return []string{"-C", "opt-level=0"}
	}
	return []string{"-O0"}
}

func split(c combo) []string {
	if c.compiler == "rustc" {
		return []string{"-C", "split-debuginfo=unpacked"}
	}
	return []string{"-gsplit-dwarf"}
}

func exported(c combo) []string {
	if c.compiler == "rustc" {
		return []string{"-C", "link-arg=-rdynamic"}
	}
	return []string{"-rdynamic"}
}

func lld(c combo) []string {
	if c.compiler == "rustc" {
		return []string{"-C", "link-arg=-fuse-ld=lld", "-C", "relocation-model=pie"}
	}
	return []string{"-fuse-ld=lld", "-pie"}
}

// uncompressed undoes what go does on its own.
func uncompressed(c combo) []string {
	if c.compiler == "go" {
		return []string{"-ldflags=-compressdwarf=false"}
	}
	return nil
}

// copyProg copies a program alone: nothing beside it can help.
func copyProg(t testing.TB, prog string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "prog")
	run(t, "cp", prog, p)
	return p
}

func squeezed(how string) func(t *testing.T, c combo) string {
	return func(t *testing.T, c combo) string {
		prog := copyProg(t, c.build(t, uncompressed(c)...))
		run(t, "objcopy", "--compress-debug-sections="+how, prog)
		return prog
	}
}

// packed moves what rustc's own packer, or llvm-dwp, wrote.
func packed(t *testing.T, c combo) string {
	if c.compiler == "rustc" {
		return c.build(t, "-C", "split-debuginfo=packed")
	}
	return packedBy(t, c, "llvm-dwp")
}

func packedBy(t *testing.T, c combo, tool string) string {
	prog := copyDir(t, c.build(t, split(c)...))
	runIn(t, filepath.Dir(prog), tool, "-e", "prog", "-o", "prog.dwp")
	removeDwo(t, prog)
	return prog
}

// packedByRustc links the units of C++ to a program of Rust: rustc packs the .dwo
// files of all skeletons that it finds there, whoever wrote them.
func packedByRustc(t *testing.T, c combo) string {
	dir := t.TempDir()
	rust := `use std::os::raw::{c_char, c_int};
extern "C" { fn run_mix(n: c_int, v: *const *const c_char) -> c_int; }
fn main() { unsafe { run_mix(1, std::ptr::null()); } }`
	if err := os.WriteFile(filepath.Join(dir, "main.rs"), []byte(rust), 0o644); err != nil {
		t.Fatal(err)
	}
	// Without -g: units of Rust in another version of DWARF could not go to one package.
	args := []string{"-Zunstable-options", "-C", "split-debuginfo=packed", "-C", "linker=g++", "-o", "prog"}
	flags := []string{"-g", "-O2", "-gdwarf-" + c.version, "-gsplit-dwarf"}
	if c.compiler == "clang++" {
		flags = append(flags, "-gdwarf-aranges")
	}
	for _, source := range []string{"mix", "more"} {
		copyTo(t, filepath.Join("testdata", source+".cc"), filepath.Join(dir, source+".cc"))
		runIn(t, dir, c.compiler, append(flags, "-c", source+".cc", "-o", source+".o")...)
		args = append(args, "-C", "link-arg="+source+".o")
	}
	args = append(args, "-C", "link-arg=-lstdc++", "-C", "link-arg=-lm")
	runIn(t, dir, "objcopy", "--redefine-sym", "main=run_mix", "mix.o")
	runIn(t, dir, "rustc", append(args, "main.rs")...)
	removeDwo(t, filepath.Join(dir, "prog"))
	return filepath.Join(dir, "prog")
}

// referring makes the split units of clang refer to one another.
const referring = "-Wl,-plugin-opt,-split-dwarf-cross-cu-references"

// splitLTO has the linker's plugin write .dwo files.
func splitLTO(t *testing.T, c combo, flags ...string) string {
	dir, err := os.MkdirTemp(builds.dir, "dwo")
	if err != nil {
		t.Fatal(err)
	}
	return c.build(t, append(flags, "-gsplit-dwarf", "-fuse-ld=gold", "-Wl,-plugin-opt,dwo_dir="+dir)...)
}

// TestPackagers notes what becomes of gcc's DWARF 5 in the packagers that could not
// pack it when this was written. One that can is held to the whole program's answers.
func TestPackagers(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for tools that do not come to an end; dwp of rustc is compared with -short")
	}
	c := combo{"g++", "5"}
	for _, tool := range []string{"llvm-dwp", "dwp"} {
		prog := copyDir(t, c.build(t, split(c)...))
		cmd := exec.Command("timeout", "10", testprogs.Tool(t, tool), "-e", "prog", "-o", "prog.dwp")
		cmd.Dir = filepath.Dir(prog)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%s: %v %s", tool, err, out)
			continue
		}
		removeDwo(t, prog)
		against(t, prog, c, form{name: "dwp"})
	}
}
