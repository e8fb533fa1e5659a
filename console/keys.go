package console

// A keySource gives keys as they are typed.
type keySource interface {
	Keys(typed func([]byte)) (stop func() error, err error)
}

// heldKeys are the keys of the terminal while a view has all of its screen. typed gets
// them, see terminal.Keys. It belongs to the console's goroutine.
type heldKeys struct {
	from  keySource
	typed func([]byte)
	stop  func() error // nil: they are not held
}

// hold takes the keys.
func (k *heldKeys) hold() (err error) {
	k.stop, err = k.from.Keys(k.typed)
	return err
}

// release gives them back, if they are held.
func (k *heldKeys) release() error {
	if k.stop == nil {
		return nil
	}
	stop := k.stop
	k.stop = nil
	return stop()
}

// regain takes them anew when somebody else had the terminal, and may have left it in
// other modes. It is false if there are none any more.
func (k *heldKeys) regain(c *Console) bool {
	if err := k.release(); err != nil {
		c.Notify(err.Error())
	}
	return k.hold() == nil
}
