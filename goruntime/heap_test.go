package goruntime_test

import (
	"debug/dwarf"
	"debug/elf"
	"runtime"
	"strings"
	"testing"

	"hdb/goruntime"
)

// TestHeapLayout compares the offsets with what the linker writes of the runtime's structures.
func TestHeapLayout(t *testing.T) {
	for _, toolchain := range some() {
		t.Run(toolchain, func(t *testing.T) {
			version := toolchain
			if version == "local" {
				version = runtime.Version()
			}
			layout, err := goruntime.Of(version)
			if err != nil {
				t.Fatal(err)
			}
			l := layout.Heap()
			at := members(t, build(t, toolchain))
			want := map[string]int{
				"mheap.allspans": l.AllSpans, "mheap.arenas": l.Arenas, "mspan.npages": l.NPages, "mspan.state": l.State, "mspan.specials": l.Specials,
				"mspan.largeType": l.LargeType, "special.kind": l.SpecialKind, "specialfinalizer.fn": l.SpecialBody,
				"moduledata.noptrdata": l.NoPtrData, "moduledata.enoptrdata": l.NoPtrData + 8, "moduledata.data": l.NoPtrData + 16, "moduledata.edata": l.NoPtrData + 24,
				"moduledata.bss": l.NoPtrData + 32, "moduledata.ebss": l.NoPtrData + 40, "moduledata.noptrbss": l.NoPtrData + 48, "moduledata.enoptrbss": l.NoPtrData + 56,
				"moduledata.types": l.Types, "moduledata.etypes": l.ETypes, "moduledata.gcdatamask": l.GCDataMask, "moduledata.gcbssmask": l.GCBSSMask, "moduledata.next": l.NextModule,
				"moduledata.funcnametab": l.FuncNames, "moduledata.pctab": l.PCTab, "moduledata.pclntable": l.PCTab + 24, "moduledata.ftab": l.PCTab + 48,
				"moduledata.text": l.NoPtrData - 16, "moduledata.rodata": l.ROData, "moduledata.gofunc": l.ROData + 8, "_func.nfuncdata": l.FuncHead - 1,
				"_func.args": goruntime.FuncArgs, "_func.pcsp": goruntime.FuncPCSP, "_func.npcdata": goruntime.FuncNPCData, "g._panic": l.GPanic, "g._defer": l.GPanic + 8, "gobuf.ctxt": l.SchedContext, "_defer.fn": l.DeferFn, "_defer.link": l.DeferLink,
				"special.next": 0, "special.offset": 8,
				"bitvector.n": 0, "bitvector.bytedata": 8,
			}
			if l.Minor < 25 { // later it is allocated as plain memory, and has no type that is written
				want["finblock.alllink"], want["finblock.cnt"], want["finblock.fin"] = goruntime.FinAllLink, goruntime.FinCount, goruntime.FinFirst
			}
			for name, got := range want {
				m, ok := at[name]
				if ok != (got != 0 || zeroMembers[name]) || ok && m.offset != int64(got) {
					t.Errorf("%s: offset %d, DWARF has %d (%v)", name, got, m.offset, ok)
				}
			}
			if wide := at["special.offset"].size == 8; wide != l.SpecialWide {
				t.Errorf("offset of a special of 8 bytes: %v, want %v", wide, l.SpecialWide)
			}
			bitmap := 0
			if m, ok := at["heapArena.bitmap"]; ok {
				bitmap = int(m.size * 8 / (1 << goruntime.ArenaShift / 8))
			}
			if bitmap != l.ArenaBits {
				t.Errorf("%d bits a word in an arena's bitmap, want %d", bitmap, l.ArenaBits)
			}
			if at["finalizer"].size != goruntime.FinSize {
				t.Errorf("a finalizer has %d bytes, want %d", at["finalizer"].size, goruntime.FinSize)
			}
		})
	}
}

// zeroMembers come first in their structures.
var zeroMembers = map[string]bool{"special.next": true, "bitvector.n": true, "finblock.alllink": true}

// A member is where a member of a structure lies, and its size in bytes.
type member struct{ offset, size int64 }

// members are those of the runtime's structures, "g.goid", and the structures' sizes.
func members(t *testing.T, program string) map[string]member {
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dw, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]member{}
	in := ""
	for r := dw.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return all
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		switch e.Tag {
		case dwarf.TagStructType:
			short, runtime := strings.CutPrefix(name, "runtime.")
			if !runtime {
				in = ""
				r.SkipChildren()
				continue
			}
			in = short
			size, _ := e.Val(dwarf.AttrByteSize).(int64)
			all[in] = member{0, size}
		case dwarf.TagMember:
			if in == "" {
				continue
			}
			m := member{}
			m.offset, _ = e.Val(dwarf.AttrDataMemberLoc).(int64)
			if typ, err := dw.Type(e.Val(dwarf.AttrType).(dwarf.Offset)); err == nil {
				m.size = typ.Size()
			}
			all[in+"."+name] = m
		}
	}
}
