package testprogs

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asksTypes are commands that ask for the types of all blocks.
var asksTypes = []string{"live all", "top per type", "find -type /10000 *", "refs -path $block", "whence $block + 8", "print -block $block"}

// askTypes asks at a function of a program, and fails for what hostile bytes must not do.
func askTypes(t *testing.T, program, at string, options ...string) string {
	t.Helper()
	args := append(options, "-batch", "-nx", "-ex", "record start", "-ex", "break "+at, "-ex", "run", "-ex", "set $block = 0x5555555592a0")
	for _, ask := range asksTypes {
		args = append(args, "-ex", ask)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	out, err := exec.CommandContext(ctx, HDB(t), append(args, program)...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("not ready after two minutes:\n%.3000s", out)
	case err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1): // 1: a command failed
		t.Errorf("%v\n%.3000s", err, out)
	case bytes.Contains(out, []byte("goroutine ")) || bytes.Contains(out, []byte("panic")):
		t.Errorf("a panic:\n%.3000s", out)
	case bytes.ContainsAny(out, "\x1b\x07\x00"):
		t.Errorf("control characters in %.3000q", out)
	case len(out) > 8<<20:
		t.Errorf("%d bytes of text", len(out))
	}
	return string(out)
}

// TestHostileDebugInformation asks for the types of blocks where bytes of the debug information are others, at
// random: all ends soon, without a panic, and the program runs as it does.
func TestHostileDebugInformation(t *testing.T) {
	for _, name := range []string{"blocktypes", "blocktypes_plus"} {
		program := Build(t, name, "-O0", "-gz=none")
		whole, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(whole))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for seed := range uint64(Rounds(4, 60)) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				rnd, b := rand.New(rand.NewPCG(seed, 1)), bytes.Clone(whole)
				changed := 0
				for _, s := range f.Sections {
					if !strings.HasPrefix(s.Name, ".debug_") || s.FileSize == 0 || rnd.IntN(3) == 0 {
						continue
					}
					for range 1 + rnd.Uint64N(1+s.FileSize/uint64(10+rnd.IntN(2000))) {
						b[s.Offset+rnd.Uint64N(s.FileSize)] = byte(rnd.Uint32())
						changed++
					}
				}
				path := filepath.Join(dir, fmt.Sprint(name, seed))
				if err := os.WriteFile(path, b, 0o755); err != nil {
					t.Fatal(err)
				}
				out := askTypes(t, path, "blocks_told")
				if !strings.Contains(out, "recorded block") || changed == 0 {
					t.Errorf("%d bytes changed; no blocks in\n%.3000s", changed, out)
				}
			})
		}
	}
}

// TestHostileBlocks asks for the types of blocks whose first words are nearly those of objects: none is taken for one.
func TestHostileBlocks(t *testing.T) {
	out := askTypes(t, Build(t, "hostileblocks"), "blocks_made", "--json")
	blocks := 0
	for line := range strings.Lines(out) {
		var list struct {
			Command string
			Events  []typedBlock
			Found   []typedBlock
		}
		if json.Unmarshal([]byte(line), &list) != nil {
			continue
		}
		blocks += len(list.Events)
		for _, b := range append(list.Events, list.Found...) {
			if b.How == "vtable" || strings.Contains(b.Type, "Base") || strings.Contains(b.Type, "Derived") || strings.Contains(b.Type, "Other") {
				t.Errorf("%s: a block is said to be %s (%s)", list.Command, b.Type, b.How)
			}
		}
	}
	if blocks < 600 {
		t.Errorf("%d blocks in\n%.3000s", blocks, out)
	}
}
