package delve

import (
	"errors"

	"hdb/internal/addr"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
)

// A ParkedGoroutine is one whose stack is not the one that a thread's registers point to: the
// address of its g, and the registers that it continues with.
type ParkedGoroutine struct {
	G          uint64
	PC, SP, BP addr.Run
}

// parkedThread is a parked goroutine as delve wants to see a thread: delve finds the goroutine
// of a thread by its registers, so that no others are looked through.
type parkedThread struct {
	*thread
	goroutine *ParkedGoroutine
	own       proc.CommonThread
}

func (t *parkedThread) Common() *proc.CommonThread         { return &t.own }
func (t *parkedThread) Registers() (proc.Registers, error) { return parkedRegisters{t.goroutine}, nil }

func (t *parkedThread) SetReg(uint64, *op.DwarfRegister) error {
	return errors.New("the goroutine is not running: it has no registers")
}

// parkedRegisters are those that are known of a goroutine that does not run.
type parkedRegisters struct{ *ParkedGoroutine }

func (r parkedRegisters) PC() uint64                    { return uint64(r.ParkedGoroutine.PC) }
func (r parkedRegisters) SP() uint64                    { return uint64(r.ParkedGoroutine.SP) }
func (r parkedRegisters) BP() uint64                    { return uint64(r.ParkedGoroutine.BP) }
func (r parkedRegisters) LR() uint64                    { return 0 }
func (r parkedRegisters) TLS() uint64                   { return 0 }
func (r parkedRegisters) GAddr() (uint64, bool)         { return r.G, true }
func (r parkedRegisters) Copy() (proc.Registers, error) { return r, nil }

func (r parkedRegisters) Slice(bool) ([]proc.Register, error) {
	all := proc.AppendUint64Register(nil, "Rip", r.PC())
	all = proc.AppendUint64Register(all, "Rsp", r.SP())
	return proc.AppendUint64Register(all, "Rbp", r.BP()), nil
}
