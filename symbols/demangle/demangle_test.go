package demangle

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ in, name, bare string }{
		{"main", "main", "main"},
		{"_Z3addii", "add(int, int)", "add"},
		{"_Z3maxIiET_S0_S0_", "max<int>(int, int)", "max<int>"},
		{"_ZN2ns1C4growEm.cold", "ns::C::grow(unsigned long)", "ns::C::grow"},
		{"_ZNK3FooC4Ev", "Foo::Foo() const", "Foo::Foo"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.99", "core::fmt::Formatter::pad", "core::fmt::Formatter::pad"},
		{"_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE", "core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<alloc::vec::Vec<u8>>"},
		{"_RNvCs4fqI2P2rA04_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
		{"_RNvMs_CsAbC_3fooNtB4_3Bar3new.llvm.123", "<foo::Bar>::new", "<foo::Bar>::new"},
		{"_Zbroken", "_Zbroken", "_Zbroken"},
		{"_ZdlPvm", "operator delete(void*, unsigned long)", "operator delete"},
		{"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE", "std::sys::backtrace::__rust_begin_short_backtrace", "std::sys::backtrace::__rust_begin_short_backtrace"},
		{"_ZN41_$LT$char$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE", "<char as core::fmt::Debug>::fmt", "<char as core::fmt::Debug>::fmt"},
		{"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()", "(anonymous namespace)::foo"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
		// Names of clang, with what llvm-cxxfilt makes of them.
		{"_ZSt4swapIiENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS3_ESt18is_move_assignableIS3_EEE5valueEvE4typeERS3_SC_", "std::swap<int>(int&, int&)", "std::swap<int>"},
		{"_ZSt4swapIiSt14default_deleteIiEENSt9enable_ifIXsr14__is_swappableIT0_EE5valueEvE4typeERSt10unique_ptrIT_S3_ES9_", "std::swap<int, std::default_delete<int> >(std::unique_ptr<int, std::default_delete<int> >&, std::unique_ptr<int, std::default_delete<int> >&)", "std::swap<int, std::default_delete<int> >"},
		{"_Z1gIi1SENSt9enable_ifIXaasr4globIT_EE5valuentsr3std7is_sameIS2_T0_EE5valueES2_E4typeES2_S3_S2_RKS3_4globIS3_ES9_", "g<int, S>(int, S, int, S const&, glob<S>, glob<S>)", "g<int, S>"},
		{"_ZN4llvm4yaml7yamlizeINS_7support6detail31packed_endian_specific_integralIiLNS2_10endiannessE1ELm1ELm1EEEEENSt9enable_ifIXsr16has_ScalarTraitsIT_EE5valueEvE4typeERNS0_2IOERS8_bRNS0_12EmptyContextE", "llvm::yaml::yamlize<llvm::support::detail::packed_endian_specific_integral<int, (llvm::support::endianness)1, 1ul, 1ul> >(llvm::yaml::IO&, llvm::support::detail::packed_endian_specific_integral<int, (llvm::support::endianness)1, 1ul, 1ul>&, bool, llvm::yaml::EmptyContext&)", "llvm::yaml::yamlize<llvm::support::detail::packed_endian_specific_integral<int, (llvm::support::endianness)1, 1ul, 1ul> >"},
		// And of gcc, which writes the namespace as a type: nothing is to be mended.
		{"_ZSt4swapIiENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SE_", "std::swap<int>(int&, int&)", "std::swap<int>"},
	} {
		if got := Name(c.in); got != c.name {
			t.Errorf("Name(%q) = %q, want %q", c.in, got, c.name)
		}
		if got := Bare(c.in); got != c.bare {
			t.Errorf("Bare(%q) = %q, want %q", c.in, got, c.bare)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"_Z3addii", "_ZN2ns1C4growEm.cold", "_RNvCs4fqI2P2rA04_7mycrate3foo", "_ZSt1aIS_IS_IS_EEE", "_Z1gIi1SENSt9enable_ifIXaasr4globIT_EE5valuentsr3std7is_sameIS2_T0_EE5valueES2_E4typeES2_S3_S2_RKS3_4globIS3_ES9_", "_ZN4core3fmt17h0123456789abcdefE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if out := Name(s); len(out) > 4<<maxResult && len(out) > len(s) {
			t.Errorf("%d bytes demangle to %d", len(s), len(out))
		}
		Bare(s)
	})
}
