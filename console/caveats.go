package console

// answer is show for numbers that are drawn from the recording: with what makes them
// less sure.
func (c *Console) answer(in Input, data any, text func(o *output)) {
	c.showCareful(in, data, c.s.Gaps(), text)
}

// showCareful is show with caveats.
func (c *Console) showCareful(in Input, data any, gaps []string, text func(o *output)) {
	if c.cfg.JSON {
		c.out.raw(jsonLine(in.Name, data, gaps...))
		return
	}
	text(c.out)
	c.out.careful(gaps)
}

// careful prints caveats.
func (o *output) careful(lines []string) {
	for _, line := range lines {
		o.line(span{styleWarning, "! "}, span{plain, line})
	}
}
