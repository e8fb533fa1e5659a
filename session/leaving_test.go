package session

import "testing"

// losing returns from main, or ends by os.Exit, when C code in it has lost 20 blocks.
const losing = `package main

/*
#include <stdlib.h>
static void lose(void) { for (int i = 0; i < 20; i++) { volatile char *p = malloc(1000); p[0] = 1; } }
*/
import "C"
import "os"

func main() {
	C.lose()
	if len(os.Args) > 1 {
		os.Exit(3)
	}
}
`

// TestToExitOfGo stops a Go program that is linked with libc before its runtime ends it, which calls no exit, and finds what C code has lost.
func TestToExitOfGo(t *testing.T) {
	program := buildGo(t, losing)
	for _, args := range []string{"", "exit"} {
		for _, recorded := range []bool{false, true} {
			s := open(t, "golang")
			if _, err := s.Load(program); err != nil {
				t.Fatal(err)
			}
			s.Settings.Args = args
			if recorded {
				if err := s.Recorder.Start(); err != nil {
					t.Fatal(err)
				}
			}
			if _, how, err := s.ToExit(true); err != nil || how != LeavingAtExit {
				t.Fatalf("%q: %v, %v", args, how, err)
			}
			// The last ones may still be in registers and on the stack of the thread that ran C.
			if lost, err := s.Heap.Lost(t.Context()); err != nil || lost.Blocks < 15 || lost.Blocks > 21 {
				t.Errorf("%q, recorded %v: %+v, %v", args, recorded, lost, err)
			}
		}
	}
}
