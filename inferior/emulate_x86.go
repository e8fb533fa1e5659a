package inferior

// A stepper runs one instruction on registers; false leaves all unchanged.
type stepper func(*Thread, *Registers) bool

func decodeStepper(code []byte, at uint64) stepper { return nil }

func accessVerb(code []byte, r *Registers, a uint64) string { return "accessing" }
