package cond

import "strings"

// suggestion is " (did you mean size?)" for the name nearest to word, or
// nothing when none is near.
func suggestion(word string) string {
	best, bestDist := "", 1+len(word)/3
	for _, info := range Fields() {
		name := strings.TrimSuffix(info.Name, "(")
		if d := distance(strings.ToLower(word), name); d < bestDist || d == bestDist && best == "" {
			best, bestDist = name, d
		}
	}
	if best == "" {
		return " (help conditions lists the names)"
	}
	return " (did you mean " + best + "?)"
}

// distance is the number of insertions, deletions and replacements between a
// and b (Levenshtein). Long words are no typing slip: they count as far.
func distance(a, b string) int {
	if len(a) > 4*len(b) {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(diagonal+cost, row[j]+1, row[j+1]+1)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
