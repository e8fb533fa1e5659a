package dwarf

// Tag is what a debugging information entry describes (DWARF 5 section 7.5.3).
type Tag uint16

// The tags that this project reads.
const (
	TagArrayType           Tag = 0x01
	TagClassType           Tag = 0x02
	TagEnumerationType     Tag = 0x04
	TagFormalParameter     Tag = 0x05
	TagLexicalBlock        Tag = 0x0b
	TagPointerType         Tag = 0x0f
	TagReferenceType       Tag = 0x10
	TagCompileUnit         Tag = 0x11
	TagStructureType       Tag = 0x13
	TagSubroutineType      Tag = 0x15
	TagTypedef             Tag = 0x16
	TagUnionType           Tag = 0x17
	TagUnspecifiedParams   Tag = 0x18
	TagInlinedSubroutine   Tag = 0x1d
	TagModule              Tag = 0x1e
	TagPtrToMemberType     Tag = 0x1f
	TagBaseType            Tag = 0x24
	TagConstType           Tag = 0x26
	TagSubprogram          Tag = 0x2e
	TagVariable            Tag = 0x34
	TagVolatileType        Tag = 0x35
	TagInterfaceType       Tag = 0x38
	TagNamespace           Tag = 0x39
	TagUnspecifiedType     Tag = 0x3b
	TagRvalueReferenceType Tag = 0x42
	TagTypeUnit            Tag = 0x41
	TagCallSite            Tag = 0x48
	TagSkeletonUnit        Tag = 0x4a
	TagLabel               Tag = 0x0a
	TagGNUCallSite         Tag = 0x4109
)

// At is the name of an attribute (section 7.5.4).
type At uint16

// The attributes that this project reads.
const (
	AtSibling         At = 0x01
	AtLocation        At = 0x02
	AtName            At = 0x03
	AtByteSize        At = 0x0b
	AtStmtList        At = 0x10
	AtLowPC           At = 0x11
	AtHighPC          At = 0x12
	AtLanguage        At = 0x13
	AtCompDir         At = 0x1b
	AtProducer        At = 0x25
	AtAbstractOrigin  At = 0x31
	AtArtificial      At = 0x34
	AtDeclFile        At = 0x3a
	AtDeclLine        At = 0x3b
	AtDeclaration     At = 0x3c
	AtExternal        At = 0x3f
	AtMacroInfo       At = 0x43
	AtSpecification   At = 0x47
	AtStaticLink      At = 0x48
	AtType            At = 0x49
	AtExtension       At = 0x54
	AtRanges          At = 0x55
	AtCallColumn      At = 0x57
	AtCallFile        At = 0x58
	AtCallLine        At = 0x59
	AtLinkageName     At = 0x6e
	AtStrOffsetsBase  At = 0x72
	AtAddrBase        At = 0x73
	AtRnglistsBase    At = 0x74
	AtDwoName         At = 0x76
	AtMacros          At = 0x79
	AtNoreturn        At = 0x87
	AtLoclistsBase    At = 0x8c
	AtMIPSLinkageName At = 0x2007
	AtGNUMacros       At = 0x2119
	AtGNUDwoName      At = 0x2130
	AtGNUDwoID        At = 0x2131
	AtGNURangesBase   At = 0x2132
	AtGNUAddrBase     At = 0x2133
)

// Form is how an attribute is encoded (section 7.5.6).
type Form uint16

// The forms, with GNU's extensions for split DWARF 4 and dwz.
const (
	FormAddr          Form = 0x01
	FormBlock2        Form = 0x03
	FormBlock4        Form = 0x04
	FormData2         Form = 0x05
	FormData4         Form = 0x06
	FormData8         Form = 0x07
	FormString        Form = 0x08
	FormBlock         Form = 0x09
	FormBlock1        Form = 0x0a
	FormData1         Form = 0x0b
	FormFlag          Form = 0x0c
	FormSdata         Form = 0x0d
	FormStrp          Form = 0x0e
	FormUdata         Form = 0x0f
	FormRefAddr       Form = 0x10
	FormRef1          Form = 0x11
	FormRef2          Form = 0x12
	FormRef4          Form = 0x13
	FormRef8          Form = 0x14
	FormRefUdata      Form = 0x15
	FormIndirect      Form = 0x16
	FormSecOffset     Form = 0x17
	FormExprloc       Form = 0x18
	FormFlagPresent   Form = 0x19
	FormStrx          Form = 0x1a
	FormAddrx         Form = 0x1b
	FormRefSup4       Form = 0x1c
	FormStrpSup       Form = 0x1d
	FormData16        Form = 0x1e
	FormLineStrp      Form = 0x1f
	FormRefSig8       Form = 0x20
	FormImplicitConst Form = 0x21
	FormLoclistx      Form = 0x22
	FormRnglistx      Form = 0x23
	FormRefSup8       Form = 0x24
	FormStrx1         Form = 0x25
	FormStrx2         Form = 0x26
	FormStrx3         Form = 0x27
	FormStrx4         Form = 0x28
	FormAddrx1        Form = 0x29
	FormAddrx2        Form = 0x2a
	FormAddrx3        Form = 0x2b
	FormAddrx4        Form = 0x2c
	FormGNUAddrIndex  Form = 0x1f01
	FormGNUStrIndex   Form = 0x1f02
	FormGNURefAlt     Form = 0x1f20
	FormGNUStrpAlt    Form = 0x1f21
)

// UnitType is the kind of a unit (section 7.5.1).
type UnitType uint8

// The unit types.
const (
	UnitCompile      UnitType = 1
	UnitTypes        UnitType = 2
	UnitPartial      UnitType = 3
	UnitSkeleton     UnitType = 4
	UnitSplitCompile UnitType = 5
	UnitSplitTypes   UnitType = 6
)

// Language is DW_AT_language (section 7.12).
type Language uint16

// Families of languages as a debugger treats them.
func (l Language) family() string {
	switch l {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e:
		return "c"
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a:
		return "c++"
	case 0x1c:
		return "rust"
	case 0x16:
		return "go"
	case 0x14:
		return "python"
	case 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d:
		return "fortran"
	case 0x03, 0x0d, 0x2f:
		return "ada"
	case 0x09:
		return "pascal"
	case 0x13:
		return "d"
	case 0x1e:
		return "swift"
	case 0x1f:
		return "julia"
	case 0x10:
		return "objective-c"
	case 0x11:
		return "objective-c++"
	case 0x27:
		return "zig"
	case 0x29, 0x8001:
		return "assembler"
	case LangCython:
		return "cython"
	}
	return ""
}

// String is the language's name in lower case: "c", "c++", "rust"; "" unknown.
func (l Language) String() string { return l.family() }

// Scoped reports whether functions have qualified names, a::b.
func (l Language) Scoped() bool {
	switch l.family() {
	case "c", "go", "assembler", "fortran", "pascal", "objective-c":
		return false
	}
	return true
}

// IsC reports whether l is a version of C.
func (l Language) IsC() bool { return l.family() == "c" }

// Languages that code elsewhere asks for.
const (
	LangC         Language = 0x0c // C99
	LangRust      Language = 0x1c
	LangGo        Language = 0x16
	LangPython    Language = 0x14
	LangAssembler Language = 0x8001 // DW_LANG_Mips_Assembler, GNU as
	LangCython    Language = 0xff00 // of no compiler: what Cython has made C of
)
