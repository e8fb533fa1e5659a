# Call frame instructions that compilers rarely emit. Rows are compared with readelf's.
	.text
	.globl f
f:	.cfi_startproc
	nop
	.cfi_def_cfa_offset 300
	.cfi_offset rbx, -40
	nop
	.cfi_remember_state
	.cfi_def_cfa rbp, 16
	.cfi_offset r12, -48
	.cfi_undefined r13
	nop
	.cfi_same_value r14
	.cfi_register r15, r10
	nop
	.cfi_restore_state
	nop
	.cfi_restore rbx
	nop
	.cfi_escape 0x2f, 3, 2			# GNU_negative_offset_extended rbx, 2
	nop
	.cfi_escape 0x05, 12, 0x85, 0x01	# offset_extended r12, 133
	.cfi_escape 0x11, 13, 0x7e		# offset_extended_sf r13, -2
	nop
	.cfi_escape 0x06, 12			# restore_extended r12
	.cfi_escape 0x12, 6, 0x7c		# def_cfa_sf rbp, -4
	nop
	.cfi_escape 0x13, 0x70			# def_cfa_offset_sf -16
	nop
	.cfi_escape 0x14, 14, 3			# val_offset r14, 3
	.cfi_escape 0x15, 15, 0x7d		# val_offset_sf r15, -3
	nop
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06	# def_cfa_expression breg6 -8; deref
	.cfi_escape 0x10, 3, 2, 0x76, 0x00	# expression rbx: breg6 0
	.cfi_escape 0x16, 12, 2, 0x76, 0x10	# val_expression r12: breg6 16
	.cfi_escape 0x2e, 0x20			# GNU_args_size 32
	nop
	.cfi_def_cfa_register rsp		# the offset of before the expression
	nop
	.cfi_def_cfa rsp, 24
	.fill 300, 1, 0x90			# advance_loc2
	.cfi_def_cfa_offset 32
	.fill 70000, 1, 0x90			# advance_loc4
	.cfi_def_cfa_offset 40
	.fill 80, 1, 0x90			# advance_loc1
	.cfi_undefined rip
	nop
	.cfi_endproc
	.section .note.GNU-stack,"",@progbits
