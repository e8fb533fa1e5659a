package python

import (
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		text, file string
		want       Target
	}{
		{"app.py:40", "", Target{File: "app.py", Line: 40}},
		{"40", "/x/app.py", Target{File: "/x/app.py", Line: 40}},
		{"pkg.app:40", "", Target{File: "pkg.app", Line: 40}},
		{"Store.grow", "/x/app.py", Target{Function: "Store.grow"}},
		{"app.py:grow", "", Target{File: "app.py", Function: "grow"}},
	} {
		if got, err := ParseTarget(c.text, c.file); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
	for _, text := range []string{"", "40", "app.py:0", "app.py:-1", "a b", "f()", "9x"} {
		if got, err := ParseTarget(text, ""); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for file, in := range map[string][]string{
		"/x/pkg/app.py":          {"app.py", "pkg/app.py", "/x/pkg/app.py", "app", "pkg.app", "./app.py", ""},
		"/x/pkg/app/__init__.py": {"app", "pkg.app", "__init__.py"},
		"<frozen zipimport>":     {"zipimport", "<frozen zipimport>"},
	} {
		for _, name := range in {
			if !(Target{File: name}).InFile(file) {
				t.Errorf("%s is not %s", file, name)
			}
		}
		for _, name := range []string{"pp.py", "kg/app.py", "pp", "other.app", "y.py"} {
			if (Target{File: name}).InFile(file) {
				t.Errorf("%s is %s", file, name)
			}
		}
	}
	library := func(file string) bool { return strings.HasPrefix(file, "<frozen") }
	for _, c := range []struct {
		target         Target
		file, qualname string
		want           bool
	}{
		{Target{Function: "grow"}, "/x/app.py", "Store.grow", true},
		{Target{Function: "Store.grow"}, "/x/app.py", "Store.grow", true},
		{Target{Function: "ore.grow"}, "/x/app.py", "Store.grow", false},
		{Target{Function: "app.Store.grow"}, "/x/app.py", "Store.grow", true},
		{Target{Function: "other.Store.grow"}, "/x/app.py", "Store.grow", false},
		{Target{Function: "main"}, "<frozen site>", "main", false},
		{Target{Function: "site.main"}, "<frozen site>", "main", true},
		{Target{File: "site", Function: "main"}, "<frozen site>", "main", true},
	} {
		if got := c.target.isFunction(c.file, c.qualname, library); got != c.want {
			t.Errorf("%+v in %s: %s: %v", c.target, c.file, c.qualname, got)
		}
	}
}
