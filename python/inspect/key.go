package inspect

import "math/big"

// A KeyKind is the type of a key.
type KeyKind uint8

// The kinds of keys.
const (
	KeyInt KeyKind = iota
	KeyText
	KeyBytes
	KeyName // None, True, False
	KeyTuple
)

// A Key is a constant by which an element is asked for.
type Key struct {
	Kind   KeyKind
	Number *big.Int
	Text   string // of a str, of bytes, or the name
	Parts  []Key  // of a tuple
	Source string // as it was written
}

// hash is the hash of a number, which dicts keep next to their keys (_PyHASH_MODULUS).
func (k Key) hash() (int64, bool) {
	if k.Kind != KeyInt {
		return 0, false
	}
	modulus := big.NewInt(1<<61 - 1)
	h := new(big.Int).Mod(new(big.Int).Abs(k.Number), modulus).Int64()
	if k.Number.Sign() < 0 {
		h = -h
	}
	if h == -1 {
		h = -2
	}
	return h, true
}
