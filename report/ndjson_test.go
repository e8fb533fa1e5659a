package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNDJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteNDJSON(&out, testRecording()); err != nil {
		t.Fatal(err)
	}
	var order []string
	live := map[float64]int64{}
	for line := range strings.Lines(out.String()) {
		for _, c := range line[:len(line)-1] {
			if c < ' ' || c == '\uFFFD' && !strings.Contains(line, `demo`) && !strings.Contains(line, "CFI") {
				t.Errorf("a control character in %q", line)
			}
		}
		d := json.NewDecoder(strings.NewReader(line))
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kind := v["type"].(string)
		if len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
		if kind != "event" {
			continue
		}
		if v["makes"] == true {
			live[v["stack"].(float64)] += int64(v["size"].(float64))
		}
		if v["ends"] == true {
			live[v["ended_stack"].(float64)] -= int64(v["ended_size"].(float64))
		}
	}
	if got, want := strings.Join(order, " "), "recording module frame stack frame stack mark sample event end"; got != want {
		t.Errorf("lines are of %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(live), "map[1:1000 2:300 3:50]"; got != want {
		t.Errorf("live are %s, want %s", got, want)
	}
	lines := strings.Split(out.String(), "\n")
	for _, want := range []string{
		`{"type":"module","module":1,"path":"/lib/libc.so.6","low":"0x5000","high":"0x6000","bias":"0x0","from":1,"to":9}`,
		`{"type":"frame","frame":1,"function":"parse<std::vector<int> >(char const*)","linkage":"_Z5parse","file":"/src/a \"b\"\n.cc","line":12,"address":"0x4000","module":0,"inlined":true,"known":true}`,
		`{"type":"stack","stack":3,"frames":[],"truncated":"lost"}`,
		`{"type":"event","seq":5,"time_us":50,"kind":"realloc","function":"realloc","tid":7,"addr":"0x3000","size":1000,"old":"0x1000","stack":1,"makes":true,"ends":true,"ended_size":100,"ended_stack":1,"ended_seq":1}`,
		`{"type":"event","seq":7,"time_us":70,"kind":"alloc","function":"malloc","tid":7,"size":18446744073709551615,"stack":2,"failed":true}`,
		`{"type":"event","seq":9,"time_us":90,"kind":"alloc","function":"malloc","tid":7,"addr":"0x1000","size":50,"aux":16,"stack":3,"makes":true,"exec":1}`,
		`{"type":"end","events":9,"damage":"a chunk is missing"}`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line\n%s in\n%s", want, out.String())
		}
	}
}

func TestNDJSONEmpty(t *testing.T) {
	var out bytes.Buffer
	if err := WriteNDJSON(&out, emptyRecording()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestNDJSONBroken(t *testing.T) {
	if err := WriteNDJSON(brokenPipe{}, testRecording()); err == nil {
		t.Error("no error though nothing could be written")
	}
}
