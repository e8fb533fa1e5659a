package symbols

import (
	"bytes"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols/elf"
	"hdb/unwind"
)

type cfiResult struct {
	table *unwind.Table
	err   error
}

// CFI is the object's unwinding table, from .eh_frame and .debug_frame (of the
// debug file where the object has none; made of .gopclntab of a Go program that has
// neither). It works on copies of the sections and
// outlives Close. The table is shared: later calls return the same one.
func (o *Object) CFI() (*unwind.Table, error) {
	o.cfiOnce.Do(func() {
		if fault := elf.Guard(func() { o.cfi.table, o.cfi.err = o.readCFI() }); fault != nil {
			o.cfi.err = fmt.Errorf("%s: %w", o.File.Path(), fault)
		}
	})
	return o.cfi.table, o.cfi.err
}

func (o *Object) readCFI() (*unwind.Table, error) {
	s := unwind.Sections{Name: o.File.Path(), Entry: o.File.elf.Entry}
	read := func(f *elf.File, name string) ([]byte, addr.File, error) {
		i := f.SectionIndex(name)
		if i < 0 && name != ".debug_frame" { // that one may be .zdebug_frame
			return nil, 0, nil
		}
		b, err := f.Section(name)
		if err != nil || b == nil {
			return nil, 0, err
		}
		var at addr.File
		if i >= 0 {
			at = f.Sections[i].Addr
		}
		return bytes.Clone(b), at, nil
	}
	var err error
	if s.EhFrame, s.EhFrameAddr, err = read(o.File.elf, ".eh_frame"); err != nil {
		return nil, err
	}
	if s.EhFrameHdr, s.EhFrameHdrAddr, err = read(o.File.elf, ".eh_frame_hdr"); err != nil {
		return nil, err
	}
	if s.DebugFrame, s.DebugFrameAddr, err = read(o.File.elf, ".debug_frame"); err != nil {
		return nil, err
	}
	if d := o.File.debugFile(); s.DebugFrame == nil && d != nil {
		if s.DebugFrame, s.DebugFrameAddr, err = read(d, ".debug_frame"); err != nil {
			return nil, err
		}
	}
	if s.DebugFrame == nil && o.golang.read() != nil {
		s.DebugFrame = o.golang.copies.debugFrame(o.File.elf.Entry)
	}
	for i := range o.File.elf.Sections {
		sec := &o.File.elf.Sections[i]
		r := unwind.Range{Low: sec.Addr, High: sec.Addr + addr.File(sec.Size), EntrySize: sec.Entsize}
		switch sec.Name {
		case ".plt", ".plt.sec", ".plt.got":
			s.PLT = append(s.PLT, r)
		case ".text":
			s.TextAddr = sec.Addr
		}
	}
	for _, seg := range o.File.elf.ExecRanges() {
		s.Text = append(s.Text, unwind.Range{Low: seg.Addr, High: seg.Addr + addr.File(seg.Memsz)})
	}
	if got, ok := o.File.elf.PLTGOT(); ok {
		s.GotAddr = got
	}
	s.Switches = o.goSwitches()
	return unwind.NewTable(s)
}
