package goruntime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"hdb/goruntime"
	"hdb/testprogs"
)

// toolchains are the releases of which programs are built, one of each minor version that
// Of knows.
var toolchains = []string{
	"go1.18.10", "go1.19.13", "go1.20.14", "go1.21.13", "go1.22.12", "go1.23.12", "go1.24.9", "go1.25.4", "go1.26.8", "go1.27.4",
}

// some are the toolchains that tests build with: all, or the oldest and newest.
func some() []string {
	if testing.Short() {
		return []string{"local", toolchains[0], toolchains[len(toolchains)-1]}
	}
	return append([]string{"local"}, toolchains...)
}

// TestLayout compares the offsets with what the linker writes of the runtime's structures.
func TestLayout(t *testing.T) {
	for _, toolchain := range some() {
		t.Run(toolchain, func(t *testing.T) {
			version := toolchain
			if version == "local" {
				version = runtime.Version()
			}
			l, err := goruntime.Of(version)
			if err != nil {
				t.Fatal(err)
			}
			at := members(t, build(t, toolchain))
			for name, got := range map[string]int{
				"g.stack": 0, "g.m": l.GM, "g.goid": l.GoID, "g.gopc": l.GoPC, "g.startpc": l.StartPC, "g.parentGoid": l.ParentGoID,
				"g.sched": l.Sched, "gobuf.sp": 0, "gobuf.pc": 8, "gobuf.bp": l.SchedBP, "g.syscallsp": l.SyscallSP, "g.syscallpc": l.SyscallSP + 8,
				"g.atomicstatus": l.Status, "g.waitsince": l.WaitSince, "g.waitreason": l.WaitReason, "g.lockedm": l.LockedM,
				"m.procid": l.ProcID, "m.gsignal": l.GSignal, "m.vdsoSP": l.VDSOSP, "m.vdsoPC": l.VDSOSP + 8, "m.alllink": l.AllLink, "m.g0": 0, "m.curg": l.CurG, "m.tls": l.TLS, "mspan.startAddr": l.StartAddr, "mspan.freeindex": l.FreeIndex, "mspan.nelems": l.NElems,
				"mspan.allocBits": l.AllocBits, "mspan.spanclass": l.SpanClass, "mspan.elemsize": l.ElemSize, "mspan.isUserArenaChunk": l.ArenaChunk,
			} {
				want, ok := at[name]
				if ok != (got != 0 || name == "g.stack" || name == "m.g0" || name == "gobuf.sp") || ok && int64(got) != want.offset {
					t.Errorf("%s: offset %d, DWARF has %d (%v)", name, got, want.offset, ok)
				}
			}
			if narrow := at["mspan.nelems"].size == 2; narrow != l.Narrow {
				t.Errorf("nelems of 16 bits: %v, want %v", l.Narrow, narrow)
			}
		})
	}
}

func TestOf(t *testing.T) {
	for _, bad := range []string{"", "go1.", "go1.17.3", "go1.99", "devel", "gccgo 12"} {
		if l, err := goruntime.Of(bad); err == nil {
			t.Errorf("%q has a layout: %+v", bad, l)
		}
	}
	if l, err := goruntime.Of("go1.23-20240626-RC01 X:boringcrypto"); err != nil || l.Minor != 23 {
		t.Errorf("%+v, %v", l, err)
	}
}

// build builds a program with a toolchain, which go downloads.
func build(t *testing.T, toolchain string, flags ...string) string {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	for name, text := range map[string]string{
		"go.mod":  "module program\n\ngo 1.18\n",
		"main.go": "package main\n\nfunc main() { println(len(make([]byte, 1<<20))) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), "main.go")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFLAGS=", "GOWORK=off", testprogs.EagerGo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build with %s: %v\n%s", toolchain, err, out)
	}
	return program
}
