package breakpoints

import "strings"

// PlainLocation writes gdb's explicit locations, such as -source FILE -line N, and those
// with a quoted file as FILE:LINE, FILE:FUNCTION, LINE or FUNCTION. Others stay as they are.
func PlainLocation(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 1 && (text[0] == '\'' || text[0] == '"') {
		file, rest, ok := strings.Cut(text[1:], text[:1])
		if ok && file != "" && strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::") {
			return file + rest
		}
		return text
	}
	parts := map[string]string{}
	for rest := text; rest != ""; {
		flag, after, _ := strings.Cut(rest, " ")
		if flag != "-source" && flag != "-line" && flag != "-function" || parts[flag] != "" {
			return text
		}
		value := after
		rest = ""
		for _, next := range []string{" -source ", " -line ", " -function "} {
			if at := strings.Index(value, next); at >= 0 {
				value, rest = value[:at], strings.TrimSpace(value[at+1:]+" "+rest)
			}
		}
		value = strings.Trim(strings.TrimSpace(value), `'"`)
		if value == "" {
			return text
		}
		parts[flag] = value
	}
	file, line, function := parts["-source"], parts["-line"], parts["-function"]
	switch {
	case (line == "") == (function == ""):
		return text
	case file != "":
		return file + ":" + line + function
	}
	return line + function
}
