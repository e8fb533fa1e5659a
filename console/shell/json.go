package shell

import (
	"bytes"
	"encoding/json"
	"fmt"

	"hdb/console/screen"
)

// JSONVersion is the "v" of every object of --json. It grows when a field
// changes its meaning or goes away, not when one is added.
const JSONVersion = 1

type notice struct {
	Notice string `json:"notice"`
}

// failure is what a command that failed prints; an unknown command's name is "".
type failure struct {
	Error string `json:"error"`
}

// JSONLine is {"v":1,"command":NAME,...} with the fields of data, which must
// marshal to an object, "warnings":[...] if there are any, and a newline. Addresses are
// strings in hexadecimal, sizes numbers of bytes, times nanoseconds.
func JSONLine(command string, data any, warnings ...string) string {
	head := fmt.Sprintf(`{"v":%d,"command":%q`, JSONVersion, command)
	body := JSONText(data)
	if body = body[1 : len(body)-1]; body != "" { // of the object
		head += "," + body
	}
	if len(warnings) > 0 {
		head += `,"warnings":` + JSONText(warnings)
	}
	return head + "}\n"
}

// List is a list for JSON, which is empty rather than null if there is nothing in it.
func List[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// JSONText is data in JSON, without control characters.
func JSONText(data any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return fmt.Sprintf("{\"error\":%q}", "internal: "+err.Error())
	}
	return string(screen.CleanJSON(bytes.TrimSpace(buf.Bytes())))
}
