package inferior

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// A Patch is code of the inferior that was replaced: readers of memory see
// the original bytes, the processor runs the new ones.
type Patch struct {
	p     *Process
	at    addr.Run
	code  []byte
	over  addr.Run
	moves map[addr.Run]addr.Run
}

// Addr is where the patch begins.
func (pt *Patch) Addr() addr.Run { return pt.at }

// Len is how many bytes it replaces.
func (pt *Patch) Len() int { return len(pt.code) }

// A PatchedError says that a trap and a patch, or two patches, cannot share
// an address: only at the first byte of a patch can a trap stand.
type PatchedError struct {
	Addr  addr.Run
	Patch *Patch // what stands there already; nil when that is a trap
}

func (e *PatchedError) Error() string {
	if e.Patch == nil {
		return fmt.Sprintf("patch over %v: a trap stands there", e.Addr)
	}
	return fmt.Sprintf("%v: inside the code patched at %v", e.Addr, e.Patch.at)
}

// Patch replaces the bytes at a with code. over is where a thread goes on that
// is to run the original code from a: the relocated copy. moves tells for each
// instruction boundary inside (a, a+len(code)) where its copy is.
func (p *Process) Patch(a addr.Run, code []byte, over addr.Run, moves map[addr.Run]addr.Run) (*Patch, error) {
	return nil, errors.New("patches: not built yet")
}

// Remove puts the original bytes back, if the patch still stands there.
func (pt *Patch) Remove() error { return errors.New("patches: not built yet") }

// PlaceAt makes a stopped thread stand at the entry a of a patched function
// without having it run the patch again.
func (t *Thread) PlaceAt(a addr.Run) error { return errors.New("patches: not built yet") }

// StopAll stops all threads, runs f, and lets the run go on afterwards.
func (p *Process) StopAll(f func() error) error { return errors.New("StopAll: not built yet") }

// Wake has f run on the owner goroutine soon.
func (p *Process) Wake(f func()) {}

// SetKillOnExit chooses whether the target dies with hdb.
func (p *Process) SetKillOnExit(on bool) error { return errors.New("SetKillOnExit: not built yet") }

// Guard has a child process put the original bytes back when hdb is killed.
// command is the argument vector of this very program in a mode that calls
// RunGuard with the arguments that Guard appends.
func (p *Process) Guard(command []string) error { return errors.New("guard: not built yet") }

// RunGuard is the main function of the guard; it returns the exit code.
func RunGuard(args []string) int { return 2 }
