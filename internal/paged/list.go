// Package paged has lists of many small elements that grow without being copied.
package paged

// A List is in pieces of one size, of which the first grows as a slice does. The zero value is empty.
type List[T any] struct{ pieces [][]T }

const (
	shift    = 15
	pieceLen = 1 << shift
)

// Len is how many elements there are.
func (l *List[T]) Len() int {
	n := len(l.pieces)
	if n == 0 {
		return 0
	}
	return (n-1)<<shift + len(l.pieces[n-1])
}

// At is element i.
func (l *List[T]) At(i int) *T { return &l.pieces[i>>shift][i&(pieceLen-1)] }

// Append adds an element.
func (l *List[T]) Append(v T) {
	if n := len(l.pieces); n > 0 && len(l.pieces[n-1]) < pieceLen {
		l.pieces[n-1] = append(l.pieces[n-1], v)
		return
	}
	l.room()[0] = v
}

// room begins a piece, with one element.
func (l *List[T]) room() []T {
	piece := make([]T, 1)
	if len(l.pieces) > 0 {
		piece = make([]T, 1, pieceLen)
	}
	l.pieces = append(l.pieces, piece)
	return piece
}

// AppendAll adds elements.
func (l *List[T]) AppendAll(all []T) {
	for len(all) > 0 {
		k := len(l.pieces) - 1
		if k < 0 || len(l.pieces[k]) == pieceLen {
			l.room()[0], all = all[0], all[1:]
			continue
		}
		n := min(len(all), pieceLen-len(l.pieces[k]))
		l.pieces[k] = append(l.pieces[k], all[:n]...)
		all = all[n:]
	}
}

// DropLast removes the last element.
func (l *List[T]) DropLast() {
	k := len(l.pieces) - 1
	if l.pieces[k] = l.pieces[k][:len(l.pieces[k])-1]; len(l.pieces[k]) == 0 {
		l.pieces = l.pieces[:k]
	}
}

// Part is the elements from low on, up to high or the end of a piece; at least one if low is below high.
func (l *List[T]) Part(low, high int) []T {
	if low >= high {
		return nil
	}
	from := low & (pieceLen - 1)
	return l.pieces[low>>shift][from:min(from+high-low, pieceLen)]
}
