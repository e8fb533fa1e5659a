package capture

import (
	"slices"
	"testing"
)

func TestExecs(t *testing.T) {
	for _, c := range []struct {
		name    string
		modules []Module
		want    []uint64
	}{
		{"nothing ended", []Module{{From: 1}, {From: 5}}, nil},
		{"dlclose", []Module{{From: 1}, {From: 3, To: 9}}, nil},
		{"exec", []Module{{From: 1, To: 9}, {From: 1, To: 9}, {From: 9}}, []uint64{9}},
		{"dlclose, then exec", []Module{{From: 1, To: 9}, {From: 2, To: 5}, {From: 9}}, []uint64{9}},
		{"twice", []Module{{From: 1, To: 4}, {From: 4, To: 9}, {From: 4, To: 6}, {From: 9}}, []uint64{4, 9}},
		{"without an event between", []Module{{From: 1, To: 4}, {From: 4, To: 4}, {From: 4}}, []uint64{4}},
		{"before the first event", []Module{{From: 1, To: 1}, {From: 1}}, []uint64{1}},
	} {
		if got := Execs(c.modules); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
