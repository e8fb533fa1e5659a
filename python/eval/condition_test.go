package eval

import (
	"strings"
	"testing"
)

func TestConditions(t *testing.T) {
	for text, want := range map[string]bool{
		"1": true, "0": false, "''": false, "'a'": true, "None": false, "True": true, "not 0": true,
		"1 < 2": true, "1 < 2 < 2": false, "1 < 2 <= 2": true, "2 == 2.0": true, "True == 1": true, "'a' < 'b'": true,
		"1 + 2 * 3 == 7": true, "(1 + 2) * 3 == 9": true, "-7 // 2 == -4": true, "-7 % 3 == 2": true, "7 % -3 == -2": true,
		"0.1 + 0.2 == 0.3": false, "0.1 + 0.2 == 0.30000000000000004": true, "10 ** 2": false,
		"1 in (1, 2)": true, "3 not in [1, 2]": true, "'b' in 'abc'": true, "'d' not in 'abc'": true, "1 in (2,)": false,
		"0 or 2 and not 3": false, "0 or 2 and 3": true, "not 1 == 2": true, "None is None": true, "None is not True": true,
		"0x10 == 16 and 1_000 == 1000": true, "b'a' == b'a'": true, "b'a' == 'a'": false,
	} {
		n, err := parseCondition(text)
		if strings.Contains(text, "**") {
			if err == nil {
				t.Errorf("%s is read", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := (conditions{}).truth(n); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "ends where a value", "n >": "ends where a value", "f(n)": "a call", "n.f(1)": "a call", "n = 3": "an operator is expected",
		"(1": ") expected", "a[1": "] expected", "'a": "does not end", "1x": "a number is expected", "lambda: 1": "a value is expected",
		strings.Repeat("(", 100) + "1": "in each other", strings.Repeat("not ", 100) + "1": "in each other",
	} {
		if err := CheckCondition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
	large := strings.Repeat("9", 900) // what is computed of it would be rounded
	for _, text := range []string{"1 < 'a'", "(1, 2)", "1 // 0", "1.5 % 2", "1 + 'a'", "1 in 3", "-'a'", large + "*" + large + "+1 == " + large + "*" + large} {
		n, err := parseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := (conditions{}).truth(n); err == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}
