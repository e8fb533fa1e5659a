package x86

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The kernel hands the x87, SSE and AVX state of a thread out as the standard form
// of an XSAVE area (Intel SDM volume 1, section 13.4), with the features that the
// system has enabled in what the processor leaves to software
// (arch/x86/include/uapi/asm/sigcontext.h, struct _fpx_sw_bytes).
const (
	xsaveMXCSR  = 24  // four bytes
	xsaveST     = 32  // st(0) to st(7), 16 bytes each of which 10 count
	xsaveXMM    = 160 // 16 bytes each
	xsaveXCR0   = 464
	xsaveHeader = 512 // XSTATE_BV: what is not in its initial state, all zeros
	xsaveYMM    = 576 // the upper halves
	xsaveSSE    = 1 << 1
	xsaveAVX    = 1 << 2
)

// Vectors are the registers of a thread for floating-point numbers and vectors.
type Vectors struct{ area []byte }

// VectorsOf are registers in an XSAVE area, which is not copied. ok is false if it is too short to be one.
func VectorsOf(area []byte) (v Vectors, ok bool) { return Vectors{area}, len(area) >= xsaveYMM }

// LegacyVectors are registers of which the form of FXSAVE has been kept, the beginning of an XSAVE
// area: without the upper halves. ok is false if it is too short to be one.
func LegacyVectors(fx []byte) (v Vectors, ok bool) {
	if len(fx) < xsaveXCR0 {
		return v, false
	}
	area := make([]byte, xsaveYMM)
	copy(area, fx)
	clear(area[xsaveXCR0:])
	area[xsaveXCR0], area[xsaveHeader] = 1|xsaveSSE, 1|xsaveSSE
	return Vectors{area}, true
}

// Area is the XSAVE area.
func (v Vectors) Area() []byte { return v.area }

// Clone is a copy.
func (v Vectors) Clone() Vectors { return Vectors{slices.Clone(v.area)} }

// has reports whether the system has enabled a part of the state.
func (v Vectors) has(feature uint64) bool {
	return binary.LittleEndian.Uint64(v.area[xsaveXCR0:])&feature != 0
}

// SSE is xmm register i (0 to 15), 32 bytes with its upper half as ymm where the
// machine has AVX; nil where there is none.
func (v Vectors) SSE(i int) []byte {
	if i < 0 || i > 15 || len(v.area) < xsaveYMM {
		return nil
	}
	low := v.area[xsaveXMM+16*i:][:16]
	if !v.has(xsaveAVX) || len(v.area) < xsaveYMM+16*16 {
		return append([]byte(nil), low...)
	}
	out := make([]byte, 32)
	copy(out, low)
	if binary.LittleEndian.Uint64(v.area[xsaveHeader:])&xsaveAVX != 0 {
		copy(out[16:], v.area[xsaveYMM+16*i:])
	}
	return out
}

// SetSSE changes the lowest bytes of xmm register i, up to 32.
func (v Vectors) SetSSE(i int, b []byte) error {
	old := v.SSE(i)
	if len(b) > len(old) {
		return fmt.Errorf("%d bytes for a register of %d", len(b), len(old))
	}
	copy(old, b)
	features := binary.LittleEndian.Uint64(v.area[xsaveHeader:])
	copy(v.area[xsaveXMM+16*i:][:16], old)
	features |= xsaveSSE
	if len(b) > 16 {
		if features&xsaveAVX == 0 { // the others were zero
			clear(v.area[xsaveYMM : xsaveYMM+16*16])
		}
		copy(v.area[xsaveYMM+16*i:][:16], old[16:])
		features |= xsaveAVX
	}
	binary.LittleEndian.PutUint64(v.area[xsaveHeader:], features)
	return nil
}

// X87 is st(i), 10 bytes of extended precision; nil where there is none.
func (v Vectors) X87(i int) []byte {
	if i < 0 || i > 7 || len(v.area) < xsaveYMM {
		return nil
	}
	return append([]byte(nil), v.area[xsaveST+16*i:][:10]...)
}

// MXCSR is the control and status register of SSE.
func (v Vectors) MXCSR() uint32 { return binary.LittleEndian.Uint32(v.area[xsaveMXCSR:]) }
