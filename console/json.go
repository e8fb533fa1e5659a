package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hdb/console/screen"
)

// jsonVersion is the "v" of every object of --json. It grows when a field
// changes its meaning or goes away, not when one is added.
const jsonVersion = 1

type notice struct {
	Notice string `json:"notice"`
}

// failure is what a command that failed prints; an unknown command's name is "".
type failure struct {
	Error string `json:"error"`
}

// jsonLine is {"v":1,"command":NAME,...} with the fields of data, which must
// marshal to an object, "warnings":[...] if there are any, and a newline. Addresses are
// strings in hexadecimal, sizes numbers of bytes, times nanoseconds.
func jsonLine(command string, data any, warnings ...string) string {
	head := fmt.Sprintf(`{"v":%d,"command":%q`, jsonVersion, command)
	body := jsonText(data)
	if body = body[1 : len(body)-1]; body != "" { // of the object
		head += "," + body
	}
	if len(warnings) > 0 {
		head += `,"warnings":` + jsonText(warnings)
	}
	return head + "}\n"
}

// jsonText is data in JSON, without control characters.
func jsonText(data any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return fmt.Sprintf("{\"error\":%q}", "internal: "+err.Error())
	}
	return string(screen.CleanJSON(bytes.TrimSpace(buf.Bytes())))
}

// show prints what a command found: as JSON when that was asked for, else as
// text does it.
func (c *Shell) show(in Input, data any, text func(o *screen.Output)) {
	if c.opt.JSON {
		c.out.Raw(jsonLine(in.Name, data))
		return
	}
	text(c.out)
}

// say prints one line about what a command did. It is not data: with --json it
// goes to standard error.
func (c *Shell) say(format string, args ...any) {
	if c.opt.JSON {
		c.err.Printf(format+"\n", args...)
		return
	}
	defer c.out.Whole()() // it is done
	c.out.Printf(format+"\n", args...)
}

// showCareful is show with caveats.
func (c *Shell) showCareful(in Input, data any, gaps []string, text func(o *screen.Output)) {
	if c.opt.JSON {
		c.out.Raw(jsonLine(in.Name, data, gaps...))
		return
	}
	text(c.out)
	c.out.Careful(gaps)
}

// fail prints an error and remembers that there was one.
func (c *Shell) fail(err error) {
	c.host.Failed(err)
	if c.opt.JSON {
		c.out.Raw(jsonLine(c.interp.running, failure{err.Error()}))
	}
	if screen.Unread(err) {
		return
	}
	// Joined errors are one message: a newline of a foreign name is escaped.
	var joined interface{ Unwrap() []error }
	text := err.Error()
	if errors.As(err, &joined) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	c.err.Line(screen.Warning("error: "), screen.Plain(text))
}

// warn prints an error that fails no command.
func (c *Shell) warn(err error) {
	c.err.Line(screen.Warning("warning: "), screen.Plain(err.Error()))
}
