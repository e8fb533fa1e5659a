package file

import (
	"errors"
	"fmt"

	"hdb/capture"
	"hdb/internal/panics"
)

// Abort prepares a recording for its end after a panic of the Writer or of its caller. Only
// Embed, Close and Abort may be called afterwards. Events that are not written yet are
// written if they can be read back; otherwise they are a loss. The reason is kept in
// Info.Partial. If writing has failed before, Abort returns that error and does nothing.
func (c *Writer) Abort(why error) error {
	c.out.queue.wait()
	added, lost := c.info.Totals.Events, c.info.Totals.Lost
	if c.sums == nil {
		added += uint64(c.encoder.head.count)
	}
	err := c.Err()
	if failed := (*panics.Error)(nil); err != nil && !errors.As(err, &failed) {
		return err
	}
	c.builder = nil // it may be wrong, and is not needed
	if err == nil {
		err = panics.Catch(c.saveLast)
		c.out.queue.wait()
	}
	if err != nil { // what was to be written before is not there: nothing that refers to it may be
		c.out.failed.Store(nil)
		c.out.packer, c.out.buf = packer{}, nil
		c.stackWriter.pending.count = 0
	}
	c.encoder.head.count = 0
	if c.sums != nil {
		c.sums.to.clear()
		c.sums.after.clear()
	}
	c.info.Totals = c.out.totals
	c.info.Totals.Lost = lost
	reason := capture.Reason{Kind: capture.Failed, Text: why.Error()}
	c.info.AddPartial(reason)
	if missing := added - c.out.totals.Events; missing > 0 {
		c.AddLoss(capture.Loss{After: c.out.last, Count: missing, Reason: reason})
	}
	c.infoStale = true
	return nil
}

// saveLast writes the events that are not in the file yet, if a reader takes them.
func (c *Writer) saveLast() {
	c.noteTypes()
	c.flushTables()
	if c.sums != nil {
		c.writeSums()
	} else if c.encoder.head.count > 0 {
		totals := c.info.Totals
		c.encoder.count(&totals)
		count := c.encoder.head.count
		columns := c.encoder.end(eventColumns{})
		var p packer
		var d eventDecoder
		if events, err := d.decode(nil, columns.appendTo(nil, &p, &totals)); err != nil || len(events) != count {
			panic(fmt.Errorf("the last %d events cannot be read: %w", count, err))
		}
		c.info.Totals = totals
		c.out.queue.add(func() { c.out.events(&columns, &totals) })
	}
	c.out.queue.wait()
	if err := c.Err(); err != nil {
		panic(err)
	}
}
