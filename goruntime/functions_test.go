package goruntime

import "testing"

func TestHelper(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.call16": true, "runtime.call1073741824": true, "runtime.reflectcall": true, "runtime.deferCallSave": true,
		"reflect.makeFuncStub": true, "reflect.methodValueCall": true, "main.(*server).serve-fm": true, "main.main.gowrap8": true,
		"a.com/b.v2/c.f.deferwrap1": true, "main.f.gowrap2.1": false, "runtime.callers": false, "runtime.call": false, "main.call16": false,
		"main.gowrapper": false, "gowrap1": false, "main.gowrap1x": false, "": false, "runtime.goexit": false,
	} {
		if got := Helper(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAllocates(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.newobject": true, "runtime.makeslice64": true, "runtime.growslice": true, "runtime.convTstring": true, "runtime.concatstring3": true,
		"runtime.mallocgcSmallNoscan": true, "runtime.stringtoslicebyte": true,
		"runtime.newproc": false, "runtime.newm": false, "runtime.schedinit": false, "runtime.mapassign_faststr": false, "runtime.makeheapobjbv": false, "main.newobject": false,
	} {
		if got := Allocates(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPackages holds the lists of packages against names that one of them has and another has not.
func TestPackages(t *testing.T) {
	for _, c := range []struct {
		name                    string
		internal, waits, serves bool
	}{
		{"runtime.gopark", true, true, true},
		{"internal/runtime/maps.NewMap", true, true, true},
		{"internal/poll.(*FD).Read", false, true, true},
		{"internal/bytealg.MakeNoZero", false, true, true},
		{"sync.(*Mutex).Lock", false, true, false},
		{"syscall.Syscall", false, true, false},
		{"time.Sleep", false, true, false},
		{"time.NewTimer", false, false, false},
		{"reflect.unsafe_New", false, false, true},
		{"runtime/pprof.profileWriter", false, false, false},
		{"main.main", false, false, false},
	} {
		if got := [...]bool{Internal(c.name), Waits(c.name), Serves(c.name)}; got != [...]bool{c.internal, c.waits, c.serves} {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
