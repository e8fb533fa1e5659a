package line

import "unicode/utf8"

// A KeySource is a Reader that can also describe keys as they are typed.
type KeySource interface {
	// Keys calls typed with what is typed until stop is called, on a goroutine of its
	// own. It calls it with nothing when the terminal has hung up, and then no more.
	// Ctrl-Z suspends hdb, Ctrl-C is a key.
	Keys(typed func([]byte)) (stop func() error, err error)
}

// HeldKeys are the keys of the terminal while a full-screen view has it. It belongs to
// the goroutine of the view.
type HeldKeys struct {
	From  KeySource
	Typed func([]byte) // called with the keys, see KeySource
	stop  func() error // nil: they are not held
}

// Hold begins to take the keys.
func (k *HeldKeys) Hold() (err error) {
	k.stop, err = k.From.Keys(k.Typed)
	return err
}

// Release gives the keys back, if they are held.
func (k *HeldKeys) Release() error {
	if k.stop == nil {
		return nil
	}
	stop := k.stop
	k.stop = nil
	return stop()
}

// Regain takes the keys anew after another program had the terminal, which may have left it in
// other modes. It returns false if there are none any more. It tells warn of an error in returning
// them.
func (k *HeldKeys) Regain(warn func(string)) bool {
	if err := k.Release(); err != nil {
		warn(err.Error())
	}
	return k.Hold() == nil
}

// SplitKeys splits what was typed into keys. A key is an escape sequence (ECMA-48,
// xterm) or a character.
func SplitKeys(typed []byte) []string {
	var keys []string
	for len(typed) > 0 {
		n := 1
		switch {
		case typed[0] == 27 && len(typed) > 2 && typed[1] == '[':
			n = 2
			for n < len(typed)-1 && (typed[n] < 0x40 || typed[n] > 0x7e) {
				n++
			}
			n++
		case typed[0] == 27 && len(typed) > 2 && typed[1] == 'O':
			n = 3
		case typed[0] >= utf8.RuneSelf:
			_, n = utf8.DecodeRune(typed)
		}
		keys = append(keys, string(typed[:n]))
		typed = typed[n:]
	}
	return keys
}
