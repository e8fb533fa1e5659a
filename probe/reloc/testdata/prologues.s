# Functions whose first instructions are of every form that relocate_x86.go
# knows, for run_test.go, which calls them where they lie and through a moved
# prologue. At entry
#   %rdi  a buffer of 1024 bytes     %rsi  its middle
#   %rcx  0, 1, 2 or a few           others: any value
# They change %rax, %rcx, %rdx, %rsi, %rdi, %r8-%r11, vector registers, the
# buffer and data. The flags at return count.

	.text

# function NAME opens a function, end closes it.
	.macro	function name
	.p2align 4
	.type	\name, @function
\name:
	.endm
	.macro	end name
	.size	\name, . - \name
	.endm

# enter_code runs a function with registers from a struct state (run_test.go),
# whose address Go's ABIInternal passes in %rax, and stores what they are
# afterwards. It runs on a stack of its own. Go expects back %rbp, %rsp and
# %r14 (its g); it finds no frame here, but it looks for none either, because
# nothing of Go is called.
	.p2align 4
	.type	enter_code, @function
enter_code:
	push	%rbp
	push	%r14
	mov	%rsp, 144(%rax)		# state.goStack
	mov	32(%rax), %rsp		# state.regs[rsp]
	push	%rax
	push	128(%rax)		# state.flags
	popf
	mov	136(%rax), %rcx		# state.target
	mov	%rcx, target(%rip)
	mov	8(%rax), %rcx
	mov	16(%rax), %rdx
	mov	24(%rax), %rbx
	mov	40(%rax), %rbp
	mov	48(%rax), %rsi
	mov	56(%rax), %rdi
	mov	64(%rax), %r8
	mov	72(%rax), %r9
	mov	80(%rax), %r10
	mov	88(%rax), %r11
	mov	96(%rax), %r12
	mov	104(%rax), %r13
	mov	112(%rax), %r14
	mov	120(%rax), %r15
	mov	0(%rax), %rax
	call	*target(%rip)
	xchg	%rax, (%rsp)		# the state again, and the result on the stack
	mov	%rcx, 8(%rax)
	mov	%rdx, 16(%rax)
	mov	%rbx, 24(%rax)
	mov	%rbp, 40(%rax)
	mov	%rsi, 48(%rax)
	mov	%rdi, 56(%rax)
	mov	%r8, 64(%rax)
	mov	%r9, 72(%rax)
	mov	%r10, 80(%rax)
	mov	%r11, 88(%rax)
	mov	%r12, 96(%rax)
	mov	%r13, 104(%rax)
	mov	%r14, 112(%rax)
	mov	%r15, 120(%rax)
	pushf
	pop	128(%rax)
	pop	0(%rax)
	mov	%rsp, 32(%rax)
	mov	144(%rax), %rsp
	cld
	pop	%r14
	pop	%rbp
	ret
	.size	enter_code, . - enter_code

# returns_to is called: the result is the address it returns to, which must be
# one of the original function.
	.p2align 4
returns_to:
	mov	(%rsp), %rax
	ret

# ---- without anything relative ----

function plain
	push	%rbp
	mov	%rsp, %rbp
	lea	(%rdi,%rsi,2), %rax
	pop	%rbp
	ret
end plain

function branch_tracking
	endbr64
	lea	1(%rdx), %rax
	xor	%rdx, %rax
	ret
end branch_tracking

function carry
	adc	%rdx, %r8
	adc	%r8, %r9
	mov	%r9, %rax
	ret
end carry

function far_immediate
	movabs	$0x123456789abcdef0, %rax
	add	%rdx, %rax
	ret
end far_immediate

function thread_pointer
	mov	%fs:0, %rax
	ret
end thread_pointer

function repeated
	cld
	rep stosb
	mov	%rdi, %rax
	ret
end repeated

function repeated_move
	xchg	%rsi, %rdi
	rep movsq
	ret
end repeated_move

function repeated_compare
	repe cmpsb
	sete	%al
	ret
end repeated_compare

function locked
	lock xadd %rdx, (%rdi)
	mov	%rdx, %rax
	ret
end locked

function frame
	enter	$16, $0
	mov	%rdx, -8(%rbp)
	mov	-8(%rbp), %rax
	leave
	ret
end frame

function patchable
	.fill	8, 1, 0x90
	lea	(%rdx,%r8), %rax
	ret
end patchable

function long_nop
	nopw	0(%rax,%rax)
	mov	%rdx, %rax
	ret
end long_nop

function bits
	popcnt	%rdx, %rax
	tzcnt	%r8, %r9
	bswap	%rdx
	ret
end bits

# ---- operands relative to RIP ----

function load
	mov	data(%rip), %rax
	add	$1, %rax
	ret
end load

function store_immediate
	movq	$0x12345678, data(%rip)	# 4 bytes of immediate behind the displacement
	ret
end store_immediate

function store_byte
	movb	$0x55, data+3(%rip)	# one byte
	ret
end store_byte

function store_word
	movw	$0x1234, data+2(%rip)	# two bytes
	ret
end store_word

function compare
	cmpq	$7, data(%rip)
	setb	%al
	ret
end compare

function address
	lea	data(%rip), %rax
	ret
end address

function own_address
	lea	own_address(%rip), %rax
	ret
end own_address

function two_loads
	cmpb	%dl, data(%rip)
	mov	data+8(%rip), %rax
	ret
end two_loads

function compare_exchange
	xor	%eax, %eax
	lock cmpxchg %rdx, data(%rip)
	ret
end compare_exchange

function shift
	shlq	$3, data(%rip)
	mov	data(%rip), %rax
	ret
end shift

function x87
	fldl	data+16(%rip)
	fstpl	(%rdi)
	ret
end x87

function sse
	movdqu	data(%rip), %xmm0
	movq	%xmm0, %rax
	ret
end sse

function sse_immediate
	pshufd	$0x1b, vector(%rip), %xmm0
	movq	%xmm0, %rax
	ret
end sse_immediate

function ssse3
	movq	%rdx, %xmm0
	pshufb	vector(%rip), %xmm0
	palignr	$5, vector(%rip), %xmm0
	movq	%xmm0, %rax
	ret
end ssse3

function avx_load
	vmovdqu	data(%rip), %ymm0
	vmovq	%xmm0, %rax
	vzeroupper
	ret
end avx_load

function avx_zero
	vzeroupper
	mov	%rdx, %rax
	ret
end avx_zero

function avx_immediate
	vpshufd	$0x1b, vector(%rip), %xmm0
	vmovq	%xmm0, %rax
	ret
end avx_immediate

function avx_long
	vpermq	$0x1b, vector(%rip), %ymm1
	vmovq	%xmm1, %rax
	vzeroupper
	ret
end avx_long

function avx_map2
	vpbroadcastb vector(%rip), %xmm8
	vmovq	%xmm8, %rax
	ret
end avx_map2

function avx_general
	andn	data(%rip), %rdx, %rax
	rorx	$7, data(%rip), %rdx
	ret
end avx_general

function avx512_load
	vmovdqu64 vector(%rip), %xmm16
	vmovq	%xmm16, %rax
	ret
end avx512_load

function avx512_immediate
	vpternlogq $0x55, vector(%rip), %xmm17, %xmm17
	vmovq	%xmm17, %rax
	ret
end avx512_immediate

function avx512_compressed
	vmovdqu64 16(%rdi), %xmm16	# one byte of displacement, in units of 16
	vmovq	%xmm16, %rax
	ret
end avx512_compressed

# ---- branches ----

	.macro	conditional cc
function short_\cc
	j\cc	1f
	mov	$1, %eax
	ret
1:	mov	$2, %eax
	ret
end short_\cc
function near_\cc
	j\cc\().d32 1f
	mov	$1, %eax
	ret
1:	mov	$2, %eax
	ret
end near_\cc
	.endm
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	conditional \cc
	.endr

function two_conditions
	jb	1f
	jo	2f
	lea	1(%rdx), %rax
	ret
1:	lea	2(%rdx), %rax
	ret
2:	lea	3(%rdx), %rax
	ret
end two_conditions

function hinted
	.byte	0x3e		# branch hint: taken
	je	1f
	mov	$1, %eax
	ret
1:	mov	$2, %eax
	ret
end hinted

function tested
	test	%rcx, %rcx
	je	1f
	mov	data(%rip), %rax
	ret
1:	mov	%rdx, %rax
	ret
end tested

function jump_short
	jmp	1f
	.fill	20, 1, 0x90
1:	mov	%rdx, %rax
	ret
end jump_short

function jump_near
	jmp.d32	1f
	.fill	20, 1, 0xcc
1:	mov	%rdx, %rax
	ret
end jump_near

function jump_elsewhere
	jmp	address
end jump_elsewhere

function jump_bnd
	endbr64
	bnd jmp	address
end jump_bnd

function jump_over_nops
	jmp	1f
	nop
	nop
	nop
1:	mov	%rdx, %rax
	ret
end jump_over_nops

function jump_memory
	jmp	*slot(%rip)
end jump_memory

function jump_memory_bnd
	endbr64
	bnd jmp *slot(%rip)
end jump_memory_bnd

function jump_register
	lea	returns_to(%rip), %rax
	notrack jmp *%rax
end jump_register

	.macro	looping name, insn:vararg
function \name
	\insn	1f
	lea	1(%rdx), %rax
	ret
1:	lea	2(%rdx), %rax
	ret
end \name
	.endm
	looping	loops, loop
	looping	loops_equal, loope
	looping	loops_unequal, loopne
	looping	jumps_rcx, jrcxz
	looping	jumps_ecx, jecxz

function jump_back
	mov	%rdx, %rax
	xor	%r8d, %r8d
1:	add	$2, %rax	# the first byte that is left in place
	dec	%rcx
	jg	1b
	ret
end jump_back

# ---- calls ----

function calls
	call	returns_to
	ret
end calls

function calls_tracked
	endbr64
	call	returns_to
	ret
end calls_tracked

function calls_framed
	push	%rbx
	call	returns_to
	pop	%rbx
	ret
end calls_framed

function calls_addr32
	addr32 call returns_to
	ret
end calls_addr32

function calls_rex
	.byte	0x48, 0xe8	# rex.W call
	.long	returns_to - . - 4
	ret
end calls_rex

function calls_data16_rex
	.byte	0x66, 0x48, 0xe8 # as the linker writes calls of __tls_get_addr
	.long	returns_to - . - 4
	ret
end calls_data16_rex

function calls_memory
	call	*slot(%rip)
	ret
end calls_memory

function calls_flags
	call	flags
	ret
end calls_flags
flags:
	pushf
	pop	%rax
	ret

function calls_next
	call	1f
1:	pop	%rax
	ret
end calls_next

function calls_itself
	endbr64
	cmp	$4, %rcx
	ja	1f
	lea	5(%rcx), %rcx
	call	calls_itself
1:	lea	1(%rcx), %rax
	ret
end calls_itself

# The longest code that 5 bytes can become: MaxCode.
function longest
	jrcxz	1f
	jrcxz	1f
	call	*slot(%rip)
	ret
1:	mov	$1, %eax
	ret
end longest

# ---- shorter than the patch ----

function only_return
	ret
end only_return

function return_zero
	xor	%eax, %eax
	ret
end return_zero

function return_argument
	mov	%rdx, %rax
	ret
end return_argument

function tracked_return
	endbr64
	ret
end tracked_return

function repeated_return
	repz ret
end repeated_return

function jump_short_only
	.byte	0xeb, tracked_return - . - 1
end jump_short_only

	.p2align 4
	ud2			# what follows the padding

# ---- data ----

	.p2align 6
data:
	.quad	5, 0x1111222233334444, 0x400921fb54442d18, 0x5555666677778888
vector:
	.byte	15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
	.byte	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
slot:	.quad	0		# the address of returns_to, written by run_test.go
target:	.quad	0		# what enter_code calls
end_of_data:
