package capture

// A DamageError says what of a capture could not be read.
type DamageError struct{ text string }

func (e *DamageError) Error() string { return e.text }
