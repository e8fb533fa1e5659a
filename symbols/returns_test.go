package symbols_test

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
)

// callSites are the last bytes of the calls in .text, by a sweep over all instructions:
// where a return address is looked up.
func callSites(t testing.TB, path string) (list []addr.File) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(code); {
		in, err := x86asm.Decode(code[at:min(at+15, len(code))], 64)
		if err != nil { // of a later extension
			at++
			continue
		}
		at += in.Len
		if in.Op == x86asm.CALL {
			list = append(list, addr.File(text.Addr)+addr.File(at)-1)
		}
	}
	return list
}

// bigProgram links units of C++ that are heavy with templates to a program of more than
// 50 MB.
func bigProgram(t *testing.T, units int) string {
	t.Helper()
	return made(t, fmt.Sprint("big ", units), func() string {
		dir, err := os.MkdirTemp(builds.dir, "big")
		if err != nil {
			t.Fatal(err)
		}
		copyTo(t, "testdata/big.cc", filepath.Join(dir, "big.cc"))
		link := []string{"-o", "prog", "main.cc"}
		var calls, decls strings.Builder
		var wg sync.WaitGroup
		work := make(chan int)
		for range 2 {
			wg.Go(func() {
				for i := range work {
					out := fmt.Sprintf("-DUNIT=u%d -c big.cc -o u%d.o", i, i)
					runIn(t, dir, "g++", append([]string{"-g", "-O1"}, strings.Fields(out)...)...)
				}
			})
		}
		for i := range units {
			work <- i
			link = append(link, fmt.Sprintf("u%d.o", i))
			fmt.Fprintf(&decls, "namespace u%d { int work(int); }\n", i)
			fmt.Fprintf(&calls, " + u%d::work(argc)", i)
		}
		close(work)
		wg.Wait()
		text := decls.String() + "int main(int argc, char **) { return argc" + calls.String() + "; }\n"
		if err := os.WriteFile(filepath.Join(dir, "main.cc"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		runIn(t, dir, "g++", link...)
		return filepath.Join(dir, "prog")
	})
}

// TestReturnAddresses looks up 10,000 return addresses of programs and libraries as
// distributions ship them, and of a large program; with -short 1,000 and no large one.
func TestReturnAddresses(t *testing.T) {
	testprogs.SkipUnderRace(t)
	n := 10000
	if testing.Short() {
		n = 1000
	}
	for _, c := range []struct {
		name, path, debug string
		names             bool // names of functions only
	}{
		{"libpython", "/usr/lib/x86_64-linux-gnu/libpython3.11d.so.1.0", "libpython3.11-dbg", false},
		{"libc", "/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg", false},
		{"libstdc++", "/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6", "libstdc++6-12-dbg", false},
		{"cc1plus", strings.TrimSpace(run(t, "g++", "-print-prog-name=cc1plus")), "", true}, // Debian's has exported names only
		{"large", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "libc" && c.name != "libstdc++" {
				t.Skip("large; test-full has it")
			}
			path := c.path
			if path == "" {
				path = bigProgram(t, 26)
			}
			st, err := os.Stat(path)
			if err != nil {
				t.Fatalf("%v; install the Debian package %s", err, c.debug)
			}
			if c.path == "" && st.Size() < 50<<20 {
				t.Errorf("the large program has %d bytes only", st.Size())
			}
			o := open(t, path, symbols.Config{})
			if !c.names && o.Info().Debug != symbols.DebugDWARF {
				t.Fatalf("%s has no debug information; install the Debian package %s", path, c.debug)
			}
			list := sampled(callSites(t, path), n)
			if len(list) < n {
				t.Fatalf("%d calls", len(list))
			}
			seen := func(chain []step) []step { return chain }
			if c.names {
				seen = bare
			}
			mine := make([][]step, len(list))
			for i, a := range list {
				mine[i] = ours(o, a)
			}
			gcc := combo{"g++", "5"}
			llvm := askAddr2line(t, "llvm-symbolizer", path, list)
			agree(t, "llvm-symbolizer", gcc, form{}, o, list, mine, llvm, seen)
			if c.path == "" { // it takes tens of milliseconds for each address of a large unit
				for i := range n / 5 {
					list[i], mine[i] = list[5*i], mine[5*i]
				}
				list, mine = list[:n/5], mine[:n/5]
			}
			agree(t, "eu-addr2line", gcc, form{}, o, list, mine, askElfutils(t, path, list), seen)
		})
	}
}
