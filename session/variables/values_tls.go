package variables

import (
	"errors"

	"hdb/internal/addr"
	"hdb/session/target"
	"hdb/values"
)

// threadLocal finds the thread-local storage of the selected thread. The program's is right below
// the thread pointer (ELF Handling For Thread-Local Storage, variant II); those of libraries are in
// the thread's dynamic thread vector.
func (v *Values) threadLocal(m values.Module, offset uint64) (addr.Run, error) {
	if err := v.Target.Readable(); err != nil {
		return 0, err
	}
	if v.sel.Cur.Thread == nil {
		return 0, target.ErrNoStack
	}
	regs, err := v.sel.Cur.Thread.Regs()
	if err != nil {
		return 0, err
	}
	if regs.FsBase == 0 {
		return 0, errors.New("thread-local: this thread has no thread pointer yet")
	}
	seg, ok := target.ProgramHeader(m.Obj, target.PTTLS)
	if !ok {
		return 0, errors.New("thread-local: the module has no segment for thread-local storage")
	}
	if v.Target.Names.Program != nil && m.Obj == v.Target.Names.Program.Object {
		return addr.Run(regs.FsBase - target.ProgramTLS(seg) + offset), nil
	}
	t := target.TLS{Target: v.Target, FS: addr.Run(regs.FsBase)}
	base, err := t.Block(m)
	return base + addr.Run(offset), err
}
