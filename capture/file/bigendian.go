//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package file

// The encoder compares several fields of an event as one number, and writes numbers in the processor's byte order.
var _ = this_package_is_for_little_endian_processors
