package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	rows := []row{
		{Group: "a", What: "pair", Native: quantity{"", "ns", series{5.5, 5.6}}, Peer: quantity{"gdb", "ns", series{2e5, 3e5}},
			HDB: quantity{"", "ns", series{8, 8}}, Figure: quantity{"", "ns", series{2.5, 2.4}}, Goal: &goal{Limit: 5}},
		{Group: "a", What: "gdb / hdb", Figure: quantity{"", "", series{9000}}, Goal: &goal{Limit: 10000, Least: true}},
		{Group: "b", What: "git", Native: quantity{"", "s", series{0.5}}, Goal: &goal{Limit: 0.25}, Note: "the plane is plain"},
		{Group: "b", What: "git, of nothing", Figure: quantity{"", "", series{-0.01, 0.02}}},
	}
	var b strings.Builder
	printTable(&b, rows, map[string]string{"a": "First", "b": "Second"})
	const want = `
                        native                 peer       hdb        figure       goal
First
  pair             5.55 ns ±1%  gdb 250,000 ns ±20%  8 ns ±0%   2.45 ns ±2%    <= 5 ns  met
  gdb / hdb                  -                    -         -      9000 ±0%  >= 10,000  MISSED
Second
  git              0.500 s ±0%                    -         -             -   <= 0.250  not measured  the plane is plain
  git, of nothing            -                    -         -  0.005 ±0.015
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
	if got, want := count(rows), "3 goals: 1 met, 1 missed, 1 not measured"; got != want {
		t.Errorf("count: %s, want %s", got, want)
	}
}
