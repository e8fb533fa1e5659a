package inferior

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"hdb/internal/addr"
)

// screenFor writes a screen for the function target of patched.c that lets only calls
// with the argument n come to the trap.
func screenFor(t testing.TB, h *hook, n uint32) *Screen {
	t.Helper()
	at := h.thunk + 1024
	over, hit := at+256, at+128
	code := binary.LittleEndian.AppendUint32([]byte{0x48, 0x81, 0xff}, n)                   // cmp $n,%rdi
	code = binary.LittleEndian.AppendUint32(append(code, 0x0f, 0x84), uint32(hit-(at+7+6))) // je hit
	code = append(code, jump(at+13, over)...)                                               // jmp over
	copied := append(bytes.Clone(targetCode), jump(over+5, h.target+5)...)                  // the moved instructions
	for a, code := range map[addr.Run][]byte{at: code, over: copied, hit: append([]byte{0x90}, jump(hit+1, over)...)} {
		if _, err := h.p.traps.WriteAt(code, int64(a)); err != nil {
			t.Fatal(err)
		}
	}
	whole := make([]byte, 512)
	if _, err := h.p.memory.ReadAt(whole, int64(at)); err != nil {
		t.Fatal(err)
	}
	return &Screen{
		At: at, Code: whole, Jump: jump(h.target, at), Tests: []addr.Run{at, at + 7, at + 13}, Hit: hit,
		Over: over, Moves: map[addr.Run]addr.Run{h.target + 4: over + 4, h.target + 5: over + 5},
	}
}

// screened plants a trap with a screen, whose handler counts the hits and checks where they are.
func screened(t testing.TB, h *hook, n uint32, then func(*Thread) Action) (tr *Trap, hits *int) {
	t.Helper()
	hits = new(int)
	tr = plant(t, h.p, h.target, func(th *Thread) Action {
		*hits++
		r, err := th.Regs()
		if err != nil || r.PC() != h.target || r.Rdi != uint64(n) && len(h.p.traps.raised) > 0 {
			t.Errorf("hit at %v with %d, %v", r.PC(), r.Rdi, err)
		}
		return then(th)
	})
	if err := tr.SetScreen(screenFor(t, h, n)); err != nil {
		t.Fatal(err)
	}
	return tr, hits
}

func resumes(*Thread) Action { return Resume }

func stopsHere(*Thread) Action { return StopHere }

// TestScreenLetsPass: only calls that the test means come to the handler, each once.
func TestScreenLetsPass(t *testing.T) {
	for _, how := range []string{"threads", "fork", "vfork", "vm"} {
		t.Run(how, func(t *testing.T) {
			h := launchHook(t, how, "100000")
			_, hits := screened(t, h, 50, resumes)
			want := 8
			if how != "threads" {
				want = 3
			}
			begun := time.Now()
			wantExit(t, h.p, 7)
			if *hits != want {
				t.Errorf("%d hits, want %d", *hits, want)
			}
			t.Logf("%v", time.Since(begun))
		})
	}
}

// TestScreenWhileStanding: whoever looks between runs meets a trap as any other, and
// hits stop at the trap's address, each once, however often all threads are stopped meanwhile.
func TestScreenWhileStanding(t *testing.T) {
	for _, interrupt := range []bool{false, true} {
		calls := 2_000_000
		h := launchHook(t, "threads", strconv.Itoa(calls))
		tr, hits := screened(t, h, 150_000, stopsHere)
		done := make(chan bool)
		if interrupt {
			go func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(500 * time.Microsecond):
						h.p.Interrupt()
					}
				}
			}()
		}
		stops, interrupted := 0, 0
		for stops < 8 {
			s := resume(t, h.p)
			switch s.Reason {
			case Interrupted:
				interrupted++
				h.wantCode(t, append([]byte{int3}, targetCode[1:]...))
				for _, th := range h.p.Threads() {
					if r, err := th.Regs(); err == nil && r.PC() >= h.thunk && r.PC() < h.thunk+4096 {
						t.Errorf("thread %d is seen at %v, in the screen", th.Num, r.PC())
					}
				}
			case Trapped:
				stops++
				if len(s.Traps) != 1 || s.Traps[0] != tr {
					t.Errorf("stopped at %v", s.Traps)
				}
				h.wantCode(t, append([]byte{int3}, targetCode[1:]...))
				if stops%2 == 0 { // by single steps over the trap
					for want := h.target + 4; want <= h.target+5; want++ {
						step, err := h.p.StepInstruction(s.Thread)
						if err != nil || step.Reason != Stepped && step.Reason != Interrupted {
							t.Fatalf("step: %v, %v", step.Reason, err)
						}
						if step.Reason == Interrupted {
							break // it may have run the instruction, or not
						}
						if r, err := s.Thread.Regs(); err != nil || r.PC() != want {
							t.Errorf("stepped to %v, want %v", r.PC(), want)
						}
					}
				}
			default:
				t.Fatalf("%v %v after %d stops", s.Reason, s.Exit, stops)
			}
		}
		close(done)
		if err := tr.Remove(); err != nil {
			t.Error(err)
		}
		for {
			if s := resume(t, h.p); s.Reason != Interrupted {
				if s.Reason != Exited || s.Exit.Code != 7 {
					t.Errorf("%v %v", s.Reason, s.Exit)
				}
				break
			}
		}
		if *hits != 8 {
			t.Errorf("%d hits, want 8 (interrupted %d times)", *hits, interrupted)
		}
		if interrupt && interrupted == 0 {
			t.Error("it was never interrupted")
		}
	}
}

// TestScreenGivesWay: traps that are planted in the jump's bytes, or share the place, while
// threads run, are hit at each arrival from then on.
func TestScreenGivesWay(t *testing.T) {
	for _, at := range []addr.Run{0, 4} {
		h := launchHook(t, "threads", "3000")
		shared := 0
		var hits *int
		_, hits = screened(t, h, 1000, func(*Thread) Action {
			if shared == 0 {
				shared = 1
				plant(t, h.p, h.target+at, func(*Thread) Action { shared++; return Resume })
			}
			return Resume
		})
		wantExit(t, h.p, 7)
		if shared < 2000 || *hits < 2000 {
			t.Errorf("+%d: %d arrivals at the second trap, %d at the first, want some 16,000", at, shared, *hits)
		}
	}
}

// TestScreenAcrossExec: the next program has no screen, and its traps work.
func TestScreenAcrossExec(t *testing.T) {
	h := launchHook(t, "exec")
	_, hits := screened(t, h, 0, resumes)
	again := 0
	h.p.SetHooks(Hooks{Execed: func(string) {
		plant(t, h.p, symbol(t, h.p, "target"), func(*Thread) Action { again++; return Resume })
	}})
	wantExit(t, h.p, 7)
	if *hits != 1 || again != 5 {
		t.Errorf("%d and %d hits, want 1 and 5", *hits, again)
	}
}
