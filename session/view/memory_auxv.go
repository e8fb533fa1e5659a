package view

import (
	"bytes"
	"fmt"
	"strconv"

	"hdb/internal/addr"
)

// An AuxEntry is an entry of the auxiliary vector.
type AuxEntry struct {
	Type    uint64
	Name    string // as "AT_PAGESZ", "" if it is not known
	Meaning string
	Value   uint64
	Text    string // the value as what it means is written
}

// auxForm says how the value of an entry is written.
type auxForm uint8

const (
	auxHex auxForm = iota
	auxDecimal
	auxString // the address of a text
)

// auxKinds are the entries by type, of elf.h.
var auxKinds = map[uint64]struct {
	name, meaning string
	form          auxForm
}{
	2:  {"AT_EXECFD", "file descriptor of the program", auxDecimal},
	3:  {"AT_PHDR", "program headers of the program", auxHex},
	4:  {"AT_PHENT", "size of a program header", auxDecimal},
	5:  {"AT_PHNUM", "number of program headers", auxDecimal},
	6:  {"AT_PAGESZ", "page size", auxDecimal},
	7:  {"AT_BASE", "where the dynamic linker is", auxHex},
	8:  {"AT_FLAGS", "flags", auxHex},
	9:  {"AT_ENTRY", "entry point of the program", auxHex},
	10: {"AT_NOTELF", "the program is not ELF", auxDecimal},
	11: {"AT_UID", "real user ID", auxDecimal},
	12: {"AT_EUID", "effective user ID", auxDecimal},
	13: {"AT_GID", "real group ID", auxDecimal},
	14: {"AT_EGID", "effective group ID", auxDecimal},
	15: {"AT_PLATFORM", "name of the platform", auxString},
	16: {"AT_HWCAP", "capabilities of the processor", auxHex},
	17: {"AT_CLKTCK", "frequency of times()", auxDecimal},
	18: {"AT_FPUCW", "control word of the FPU", auxHex},
	23: {"AT_SECURE", "it was executed set-user-ID or the like", auxDecimal},
	24: {"AT_BASE_PLATFORM", "name of the platform below", auxString},
	25: {"AT_RANDOM", "address of 16 random bytes", auxHex},
	26: {"AT_HWCAP2", "more capabilities of the processor", auxHex},
	27: {"AT_RSEQ_FEATURE_SIZE", "size of struct rseq", auxDecimal},
	28: {"AT_RSEQ_ALIGN", "alignment of struct rseq", auxDecimal},
	31: {"AT_EXECFN", "file name of the program", auxString},
	32: {"AT_SYSINFO", "entry point of the vDSO", auxHex},
	33: {"AT_SYSINFO_EHDR", "where the vDSO is", auxHex},
	51: {"AT_MINSIGSTKSZ", "least stack for a signal", auxDecimal},
}

// maxAuxText bounds a text that the vector names: PATH_MAX.
const maxAuxText = 4096

// Auxv is the auxiliary vector that the kernel gave the program.
func (m *Memory) Auxv() ([]AuxEntry, error) {
	if err := m.target.Readable(); err != nil {
		return nil, err
	}
	entries, err := m.target.Image.AuxVector()
	if err != nil {
		return nil, err
	}
	var out []AuxEntry
	for _, e := range entries {
		kind := auxKinds[e.Type]
		text := fmt.Sprintf("%#x", e.Value)
		switch kind.form {
		case auxDecimal:
			text = strconv.FormatUint(e.Value, 10)
		case auxString:
			b, err := m.Read(addr.Run(e.Value), maxAuxText) // up to the end of the stack
			if s, _, ok := bytes.Cut(b, []byte{0}); ok {
				text += " " + strconv.Quote(string(s))
			} else if err != nil {
				text += fmt.Sprintf(" <error: %v>", err)
			}
		}
		out = append(out, AuxEntry{e.Type, kind.name, kind.meaning, e.Value, text})
	}
	return out, nil
}
