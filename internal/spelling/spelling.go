// Package spelling finds the word that was meant by one that is not known.
package spelling

// Nearest is the word of the list that was most likely meant, or "": at most a
// third of its letters may differ.
func Nearest(word string, list []string) string {
	best, bestDist := "", len(word)
	for _, w := range list {
		if d := distance(word, w); d < bestDist && d <= max(1, max(len(word), len(w))/3) {
			best, bestDist = w, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours
// between two words (optimal string alignment). A word that is much longer than the
// other is no slip of the fingers: it counts as far.
func distance(a, b string) int {
	if len(a) > 4*len(b) {
		return len(a)
	}
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j]+cost, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], prev2[j-1]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}

// letters are those that a misspelt flag may lack.
const letters = "abcdefghijklmnopqrstuvwxyz-"

// Known is Nearest where the words cannot be listed, only asked for: by known. A word of
// one letter is not sought, and up to two slips are undone.
func Known(word string, known func(string) bool) string {
	if len(word) < 3 || len(word) > 24 {
		return ""
	}
	once := slips(word)
	for _, w := range once {
		if known(w) {
			return w
		}
	}
	if len(word) < 6 {
		return ""
	}
	for _, w := range once {
		for _, again := range slips(w) {
			if known(again) {
				return again
			}
		}
	}
	return ""
}

// slips are the words, of two letters or more, that differ from a word by one slip: two
// neighbours swapped, a letter too much, a wrong one, one too few.
func slips(word string) []string {
	var all []string
	for i := range len(word) - 1 {
		all = append(all, word[:i]+word[i+1:i+2]+word[i:i+1]+word[i+2:])
	}
	if len(word) > 2 {
		for i := range len(word) {
			all = append(all, word[:i]+word[i+1:])
		}
	}
	for i := range len(word) + 1 {
		for j := range len(letters) {
			if i < len(word) {
				all = append(all, word[:i]+letters[j:j+1]+word[i+1:])
			}
			all = append(all, word[:i]+letters[j:j+1]+word[i:])
		}
	}
	return all
}
