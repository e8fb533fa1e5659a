package main

import (
	"strings"
)

// jsonWork builds lists of dicts, and writes and reads them as JSON, TURNS times.
const jsonWork = `
import json
import os


def make(n):
    return [{"id": i, "name": "item%d" % i, "tags": ["a%d" % (i % 7), "b", "c"], "price": i * 1.5,
             "sub": {"x": i, "y": [i, i + 1, i + 2]}} for i in range(n)]


def encode(data):
    return json.dumps(data)


def decode(text):
    return json.loads(text)


def main(turns):
    total = 0
    for turn in range(turns):
        total += len(decode(encode(make(2000))))
    return total


main(int(os.environ["TURNS"]))
`

// pythonRows measures a script in Python that hdb records as it is, with the interpreter's
// own allocators, and with each block from malloc, in which heaptrack sees all, too.
func (b *bench) pythonRows() error {
	in := ""
	for _, p := range []struct {
		what string
		env  []string
		args []string // of hdb record
		// limit is of how often the CPU time of the program alone hdb may take, or with a peer
		// of what hdb adds to what that does.
		limit float64
		peer  bool
	}{
		{"json", nil, nil, 1.3, false},
		{"json, --python-allocators", nil, []string{"--python-allocators"}, 3, false},
		{"json, PYTHONMALLOC=malloc", []string{"PYTHONMALLOC=malloc"}, nil, 0.35, true},
	} {
		what := "python " + p.what
		if !b.wanted(what) {
			continue
		}
		if in == "" {
			var err error
			if in, err = inputs(b.cache, b.sources); err != nil {
				return err
			}
		}
		b.progress(what)
		turns := "TURNS=20"
		if b.full {
			turns = "TURNS=100"
		}
		w := work{
			argv: []string{"/usr/bin/python3", "-S", "-B", "jsonwork.py"},
			env:  append([]string{"PYTHONHASHSEED=0", turns}, p.env...), dir: in, mute: true,
		}
		var last captured
		variants := []variant{
			{"native", func() (sample, error) { return b.measure(w) }},
			{"hdb", func() (s sample, err error) {
				s, last, err = b.recorded(w, p.args...)
				return s, err
			}},
		}
		if p.peer {
			variants = append(variants, variant{"heaptrack", func() (sample, error) { return b.heaptrack(w, false) }})
		}
		r := interleave(b.rounds, variants)
		b.failed(what, r)
		native, ours := r.series("native", cpu), r.series("hdb", cpu)
		row := row{
			Group: "python", What: p.what,
			Native: quantity{"", "s", native}, HDB: quantity{"", "s", ours},
			Figure: quantity{"", "", over(ours, native)}, Goal: &goal{Limit: p.limit},
			Note: remarks("hdb / native", perEventOfHDB(last, minus(ours, native)), b.hdb.recording.remark(), r.why("hdb")),
		}
		if p.peer {
			peer := r.series("heaptrack", cpu)
			row.Peer = quantity{"heaptrack", "s", peer}
			row.Figure.Series = over(minus(ours, native), minus(peer, native))
			row.Note = strings.Replace(row.Note, "hdb / native", "(hdb - native) / (heaptrack - native)", 1)
		}
		b.rows = append(b.rows, row)
	}
	return nil
}

// perEventOfHDB is the CPU time that an event of a recording costs more, in ns.
func perEventOfHDB(c captured, added series) string {
	if c.totals.Events == 0 || len(added) == 0 {
		return ""
	}
	events := float64(c.totals.Events)
	return digits(events/1e6) + " M events, each +" + digits(added.median()/events*1e9) + " ns"
}
