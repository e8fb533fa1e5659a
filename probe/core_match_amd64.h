// The core's part for calls that a stop may want. Included by core_amd64.s.

// offer hands the call to hdb: between markGate and markGateEnd the thread sends
// itself a signal that does nothing, but which stops it for hdb first. hdb moves it to
// where it is to go on. If it has not been moved when tgkill returns, another thread's
// stop came first, or a signal handler. offer returns if hdb is dead, has let go of
// the process, or does not trace the thread. If the core makes no system calls, it comes to
// a trap instead.
//
//	clobbers AX, CX, DX, SI, DI, R8 to R11
	MARK(const_markOffer)
	MOVQ STATE, R9
	PUSHQ $0 // the thread's signal mask
	PUSHQ const_stSignalSet(R9)
	PUSHQ $const_offerTries
	TESTL $const_quietCalls, const_stQuiet(R9)
	JNE  offerTrap
	MARK(const_markConfined)
	RDTSC // faults in strict seccomp: hdb moves the thread to the trap, as it may make no system calls
	MARK(const_markConfinedEnd)
	MOVL $1, DI // SIG_UNBLOCK
	LEAQ 8(SP), SI
	LEAQ const_ofMask(SP), DX
	MOVL $8, R10
	MOVL $14, AX // rt_sigprocmask
	SYSCALL
	MARK(const_markGate)

offerAgain:
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  unwanted // hdb has let go, or this is a fork child
	MOVQ const_stHeader(R9), R8
	TESTL $const_ownerDied, const_hdAlive(R8)
	JNE  orphan
	DECQ 0(SP)
	JLT  unwanted
	MOVL $39, AX // getpid
	SYSCALL
	MOVL AX, DI
	MOVL $186, AX // gettid
	SYSCALL
	MOVL AX, SI
	MOVL const_stSignal(R9), DX
	MOVL $234, AX // tgkill
	SYSCALL
	JMP  offerAgain

orphan:
	MOVL $0, const_stEnabled(R9)

unwanted:
	MARK(const_markGateEnd)
	MOVL $2, DI // SIG_SETMASK
	LEAQ const_ofMask(SP), SI
	XORL DX, DX
	MOVL $8, R10
	MOVL $14, AX // rt_sigprocmask
	SYSCALL

offered:
	MARK(const_markOffered)
	ADDQ $24, SP
	XRET

offerTrap:
	MARK(const_markTrap)
	JMP  offered
