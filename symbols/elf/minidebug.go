package elf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/therootcompany/xz"
)

// miniSection holds an ELF file with the symbols of functions that .dynsym lacks,
// compressed by xz: what Fedora calls MiniDebugInfo.
const miniSection = ".gnu_debugdata"

// Bounds of what is decompressed. Real symbol tables become 3 to 6 times as long; xz itself can
// make thousands of bytes of one. The dictionary is as large as xz -9's.
const (
	maxMini      = 256 << 20
	maxMiniRatio = 100
	maxMiniDict  = 64 << 20
)

// MiniDebug is the file inside .gnu_debugdata, nil without that section. It is
// decompressed on first use, and ends with f.
func (f *File) MiniDebug() (*File, error) {
	f.miniOnce.Do(func() {
		f.miniErr = errors.New("file changed while it was read") // what stays when it was cut meanwhile
		f.mini, f.miniErr = f.readMini()
	})
	return f.mini, f.miniErr
}

func (f *File) readMini() (*File, error) {
	packed, err := f.Section(miniSection)
	if err != nil || packed == nil {
		return nil, err
	}
	name := f.Path + " " + miniSection
	data, err := unxz(packed, min(maxMini, maxMiniRatio*len(packed)+1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	mini, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	mini.ID = f.ID
	return mini, nil
}

// unxz decompresses a whole .xz file of at most limit bytes. The library indexes
// foreign bytes; its bounds errors are the file's fault.
func unxz(packed []byte, limit int) (data []byte, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			panic(r) // the mapped file was cut: see Guard
		case runtime.Error:
			data, err = nil, fmt.Errorf("xz: data is corrupt: %w", r)
		default:
			panic(r)
		}
	}()
	r, err := xz.NewReader(bytes.NewReader(packed), maxMiniDict)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("xz: %d bytes become more than %d", len(packed), limit)
	}
	return data, nil
}
