package inferior

// copyCode is what runs behind the call of clone(2) that makes a snapshot, if hdb lets it: the
// child gives up the files that it shares, and ends. The parent, which continues there only if hdb
// is killed, passes by. It changes no flags of the parent's.
func copyCode() []byte {
	return []byte{
		0x48, 0x89, 0xc1, // mov %rax,%rcx
		0xe3, 0x02, // jrcxz child
		0xeb, 0x20, // jmp behind
		// child: close_range(0, ~0, CLOSE_RANGE_UNSHARE) makes an empty table; nothing is closed
		0xb8, 0xb4, 0x01, 0x00, 0x00, // mov $436,%eax
		0x31, 0xff, // xor %edi,%edi
		0xbe, 0xff, 0xff, 0xff, 0xff, // mov $-1,%esi
		0xba, 0x02, 0x00, 0x00, 0x00, // mov $2,%edx
		0x0f, 0x05, // syscall
		0xb8, 0xe7, 0x00, 0x00, 0x00, // mov $231,%eax: exit_group
		0x31, 0xff, // xor %edi,%edi
		0x0f, 0x05, // syscall
		0xf4, 0xf4, 0xf4, 0xf4, // hlt: it does not come here
		// behind:
	}
}
