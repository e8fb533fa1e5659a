package symbols_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/elf"
	"hdb/testprogs"
)

// place makes the folder of a file that goes there, and names the file.
func place(t testing.TB, parts ...string) string {
	t.Helper()
	p := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// sameAnswers expects of a program what the whole one answers.
func sameAnswers(t *testing.T, o, whole *symbols.Object, rows []addr.File) {
	t.Helper()
	list := sampled(rows, 500)
	bad := 0
	for _, a := range list {
		if got, want := plainOf(o, a), plainOf(whole, a); got != want {
			if bad++; bad <= 2 {
				t.Errorf("%v:\n%s\nwhole\n%s", a, got, want)
			}
		}
	}
	if bad > 0 || len(list) < 500 {
		t.Errorf("%d of %d differ", bad, len(list))
	}
}

// TestSplitPlaces finds .dwo and .dwp files where they are put when programs are
// moved or packaged.
func TestSplitPlaces(t *testing.T) {
	testprogs.SkipUnderRace(t)
	flags := []string{"-g", "-O2", "-gdwarf-5", "-fdebug-types-section"}
	whole := open(t, pair(t, "clang++", flags...), symbols.Config{})
	prog := pair(t, "clang++", append(slices.Clone(flags), "-gsplit-dwarf")...)
	compiled := filepath.Dir(prog)
	rows := rowAddresses(t, whole.File.Path())
	for _, c := range []struct {
		name string
		make func(t *testing.T, prog, root string) symbols.Config // of a copy beside which its .dwo files are
	}{
		{"debug directory, by name", func(t *testing.T, prog, root string) symbols.Config {
			moveDwo(t, prog, filepath.Join(root, "debug"))
			return symbols.Config{DebugDirs: []string{"/nowhere", filepath.Join(root, "debug")}}
		}},
		{"debug directory, by path", func(t *testing.T, prog, root string) symbols.Config {
			moveDwo(t, prog, filepath.Join(root, "debug", compiled))
			return symbols.Config{DebugDirs: []string{filepath.Join(root, "debug")}}
		}},
		{"stale ones beside", func(t *testing.T, prog, root string) symbols.Config {
			stale := filepath.Dir(pair(t, "clang++", append(slices.Clone(flags), "-gsplit-dwarf", "-fno-inline")...))
			moveDwo(t, prog, filepath.Join(root, "debug"))
			run(t, "sh", "-c", `cp "$1"/*.dwo "$2"`, "sh", stale, filepath.Dir(prog))
			return symbols.Config{DebugDirs: []string{filepath.Join(root, "debug")}}
		}},
		{"sysroot, where it was compiled", func(t *testing.T, prog, root string) symbols.Config {
			moveDwo(t, prog, filepath.Join(root, "sys", compiled))
			return symbols.Config{Sysroot: filepath.Join(root, "sys"), DebugDirs: []string{}}
		}},
		{"sysroot's debug directory", func(t *testing.T, prog, root string) symbols.Config {
			moveDwo(t, prog, filepath.Join(root, "sys/usr/lib/debug", compiled))
			return symbols.Config{Sysroot: filepath.Join(root, "sys")}
		}},
		{"package in a debug directory, by name", func(t *testing.T, prog, root string) symbols.Config {
			packInto(t, prog, place(t, root, "debug", "prog.dwp"))
			return symbols.Config{DebugDirs: []string{filepath.Join(root, "debug")}}
		}},
		{"package in a debug directory, by path", func(t *testing.T, prog, root string) symbols.Config {
			packInto(t, prog, place(t, root, "debug", prog+".dwp"))
			return symbols.Config{DebugDirs: []string{filepath.Join(root, "debug")}}
		}},
		{"package of a stripped program", func(t *testing.T, prog, root string) symbols.Config {
			packInto(t, prog, prog+".dwp")
			return stripTo(t, prog, root)
		}},
		{"package of a debug file", func(t *testing.T, prog, root string) symbols.Config {
			packInto(t, prog, place(t, root, "debug", filepath.Dir(prog), "prog.debug.dwp"))
			return stripTo(t, prog, root)
		}},
		{"files of a stripped program", func(t *testing.T, prog, root string) symbols.Config { return stripTo(t, prog, root) }},
	} {
		if testing.Short() && c.name == "stale ones beside" { // needs another build
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			moved := copyDir(t, prog)
			cfg := c.make(t, moved, root)
			hide(t, prog, func() {
				o := open(t, moved, cfg)
				sameAnswers(t, o, whole, rows)
				if i := o.Info(); i.MissingDwo != 0 || i.Split != 2 {
					t.Errorf("info %+v", i)
				}
			})
		})
	}
	if testing.Short() {
		return
	}
	t.Run("mapped directory", func(t *testing.T) { // as reproducible builds have it
		prog := pair(t, "clang++", append(slices.Clone(flags), "-gsplit-dwarf", "-fdebug-compilation-dir=out")...)
		dir := t.TempDir()
		moved := place(t, dir, "prog")
		run(t, "cp", prog, moved)
		run(t, "sh", "-c", `mkdir "$2"/out && cp "$1"/*.dwo "$2"/out`, "sh", filepath.Dir(prog), dir)
		hide(t, prog, func() { sameAnswers(t, open(t, moved, symbols.Config{DebugDirs: []string{}}), whole, rows) })
	})
}

func moveDwo(t *testing.T, prog, to string) {
	t.Helper()
	run(t, "sh", "-c", `mkdir -p "$2" && mv "$1"/*.dwo "$2"`, "sh", filepath.Dir(prog), to)
}

func packInto(t *testing.T, prog, dwp string) {
	t.Helper()
	runIn(t, filepath.Dir(prog), "llvm-dwp", "-e", "prog", "-o", dwp)
	removeDwo(t, prog)
}

// stripTo leaves the skeletons in a debug file below root.
func stripTo(t *testing.T, prog, root string) symbols.Config {
	t.Helper()
	debug := place(t, root, "debug", filepath.Dir(prog), "prog.debug")
	run(t, "objcopy", "--only-keep-debug", prog, debug)
	run(t, "strip", prog)
	run(t, "objcopy", "--add-gnu-debuglink="+debug, prog)
	return symbols.Config{DebugDirs: []string{filepath.Join(root, "debug")}}
}

// TestAltLinkCombos follows debug links and build IDs to debug files that share
// entries with a dwz file, compressed or not, named by a path of its own or as
// distributions do.
func TestAltLinkCombos(t *testing.T) {
	for _, c := range []struct {
		name     string
		version  string
		link     bool   // by debug link, else by build ID
		noted    string // what the debug files say that the dwz file is called
		put      string // where it is, below the debug directory; "" where dwz wrote it
		squeezed bool
	}{
		{"link, relative", "4", true, "../dwz/common", "", false},
		{"link, absolute", "5", true, "", "", true},
		{"build ID, relative", "5", false, "../../.dwz/common", ".dwz/common", false},
		{"build ID, by name", "4", false, "/gone/common", ".dwz/common", true},
		{"link, by build ID", "4", true, "/gone/common", ".build-id", false},
	} {
		if testing.Short() && c.version == "5" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			debugDir := filepath.Join(dir, "debug")
			var progs, wholes, debugs []string
			for i, opt := range []string{"-O2", "-O0"} {
				whole := build(t, "g++ -g "+opt+" -gdwarf-"+c.version+" mix.cc")
				p := place(t, dir, "bin", "prog"+string(rune('0'+i)))
				run(t, "cp", whole, p)
				id := open(t, whole, symbols.Config{}).File.BuildID()
				debug := place(t, dir, "files", filepath.Base(p)+".dbg")
				if !c.link {
					debug = place(t, debugDir, ".build-id", id[:2], id[2:]+".debug")
				}
				run(t, "objcopy", "--only-keep-debug", p, debug)
				progs, wholes, debugs = append(progs, p), append(wholes, whole), append(debugs, debug)
			}
			common := place(t, dir, "dwz", "common")
			args := []string{"-m", common}
			if c.noted != "" {
				args = append(args, "-M", c.noted)
			}
			run(t, "dwz", append(args, debugs...)...)
			want := common
			switch c.put {
			case ".build-id":
				f, err := elf.Open(debugs[0])
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				_, id, ok := f.AltLink()
				if !ok {
					t.Fatal("dwz noted no file")
				}
				want = place(t, debugDir, ".build-id", id[:2], id[2:]+".debug")
			case "":
			default:
				want = place(t, debugDir, c.put)
			}
			if want != common {
				run(t, "mv", common, want)
			}
			for i, p := range progs {
				if c.squeezed {
					run(t, "objcopy", "--compress-debug-sections=zlib-gabi", debugs[i])
				}
				run(t, "strip", p)
				if c.link {
					run(t, "objcopy", "--add-gnu-debuglink="+debugs[i], p)
					debugs[i] = place(t, dir, "bin", ".debug", filepath.Base(debugs[i]))
					run(t, "cp", filepath.Join(dir, "files", filepath.Base(debugs[i])), debugs[i])
				}
			}
			if c.squeezed {
				run(t, "objcopy", "--compress-debug-sections=zlib-gabi", want)
			}
			if c.noted == "../dwz/common" { // counts from where the debug file is
				run(t, "mv", filepath.Dir(want), filepath.Join(dir, "bin/dwz"))
				want = filepath.Join(dir, "bin/dwz/common")
			}
			for i, p := range progs {
				o := open(t, p, symbols.Config{DebugDirs: []string{debugDir}})
				info := o.Info()
				if got, _ := filepath.EvalSymlinks(info.AltFile); info.DebugFile != debugs[i] || got != want || info.Problem != "" {
					t.Fatalf("info %+v, want %s and %s", info, debugs[i], want)
				}
				sameAnswers(t, o, open(t, wholes[i], symbols.Config{}), rowAddresses(t, wholes[i]))
			}
		})
	}
}
