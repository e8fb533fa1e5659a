package file

import "hdb/capture"

// clampLoss cuts a reason that is too long.
func clampLoss(l capture.Loss) capture.Loss {
	l.Reason = clampReason(l.Reason)
	return l
}

// clampReason cuts a text that is too long.
func clampReason(r capture.Reason) capture.Reason {
	r.Text = r.Text[:min(len(r.Text), maxString)]
	return r
}

// joinsLoss reports whether l is counted with the loss before rather than listed.
func joinsLoss(l, before capture.Loss) bool {
	return l.After == before.After && l.Reason == before.Reason
}

// maxLosses bounds the list of losses: further ones are counted with the last.
const maxLosses = 1 << 16

// addLoss appends l, or counts it with the last loss.
func addLoss(losses []capture.Loss, l capture.Loss) []capture.Loss {
	if n := len(losses); n > 0 && (joinsLoss(l, losses[n-1]) || n == maxLosses) {
		losses[n-1].Count += l.Count
		return losses
	}
	return append(losses, l)
}

// A lossWriter writes losses so that a reader finds the list that addLoss makes.
// The last one is kept until it is known that no other joins it.
type lossWriter struct {
	last   capture.Loss
	listed int  // losses of the list, last among them
	kept   bool // last has not been written
}

func (w *lossWriter) add(l capture.Loss, records func(chunkKind) *recordWriter) {
	if w.listed > 0 && (joinsLoss(l, w.last) || w.listed == maxLosses) {
		if w.kept {
			w.last.Count += l.Count
		} else {
			w.last.Count, w.kept = l.Count, true
		}
		return
	}
	w.flush(records)
	w.last, w.kept = l, true
	w.listed++
}

// flush writes what is kept. A loss that joins it later becomes a record that
// says the same place and reason: a reader adds the two.
func (w *lossWriter) flush(records func(chunkKind) *recordWriter) {
	if w.kept {
		w.kept = false
		records(chunkLosses).loss(w.last)
	}
}
