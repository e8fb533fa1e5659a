// Package dwop computes DWARF expressions (DWARF 5, section 2.5): those of call frame
// information, and those that describe where variables are.
//
// A [Machine] knows the operations. A [Context] gives them what they refer to: registers and
// memory. Expressions of variables refer to more, which [Variables] give. Files are not trusted:
// steps, stack, pieces and calls are bounded.
package dwop

// Operations of DWARF 5. Those between Lit0 and Lit31, Reg0 and Reg31, Breg0 and Breg31
// carry a number.
const (
	Addr            = 0x03
	Deref           = 0x06
	Const1u         = 0x08
	Const1s         = 0x09
	Const2u         = 0x0a
	Const2s         = 0x0b
	Const4u         = 0x0c
	Const4s         = 0x0d
	Const8u         = 0x0e
	Const8s         = 0x0f
	Constu          = 0x10
	Consts          = 0x11
	Dup             = 0x12
	Drop            = 0x13
	Over            = 0x14
	Pick            = 0x15
	Swap            = 0x16
	Rot             = 0x17
	Abs             = 0x19
	And             = 0x1a
	Div             = 0x1b
	Minus           = 0x1c
	Mod             = 0x1d
	Mul             = 0x1e
	Neg             = 0x1f
	Not             = 0x20
	Or              = 0x21
	Plus            = 0x22
	PlusUconst      = 0x23
	Shl             = 0x24
	Shr             = 0x25
	Shra            = 0x26
	Xor             = 0x27
	Bra             = 0x28
	Eq              = 0x29
	Ge              = 0x2a
	Gt              = 0x2b
	Le              = 0x2c
	Lt              = 0x2d
	Ne              = 0x2e
	Skip            = 0x2f
	Lit0            = 0x30
	Lit31           = 0x4f
	Reg0            = 0x50
	Reg31           = 0x6f
	Breg0           = 0x70
	Breg31          = 0x8f
	Regx            = 0x90
	Fbreg           = 0x91
	Bregx           = 0x92
	Piece           = 0x93
	DerefSize       = 0x94
	Nop             = 0x96
	PushObject      = 0x97
	Call2           = 0x98
	Call4           = 0x99
	CallRef         = 0x9a
	FormTLS         = 0x9b
	CallFrameCFA    = 0x9c
	BitPiece        = 0x9d
	ImplicitValue   = 0x9e
	StackValue      = 0x9f
	ImplicitPointer = 0xa0
	Addrx           = 0xa1
	Constx          = 0xa2
	EntryValue      = 0xa3
	ConstType       = 0xa4
	RegvalType      = 0xa5
	DerefType       = 0xa6
	Convert         = 0xa8
	Reinterpret     = 0xa9
)

// GNU's numbers of those that DWARF 5 took over, and of its own.
const (
	GNUTLS          = 0xe0
	GNUUninit       = 0xf0
	GNUImplicitPtr  = 0xf2
	GNUEntryValue   = 0xf3
	GNUConstType    = 0xf4
	GNURegvalType   = 0xf5
	GNUDerefType    = 0xf6
	GNUConvert      = 0xf7
	GNUReinterpret  = 0xf9
	GNUParameterRef = 0xfa
	GNUAddrIndex    = 0xfb
	GNUConstIndex   = 0xfc
)
