package target

import (
	"hdb/capture"
	"hdb/capture/file"
	"hdb/recording"
	"hdb/report"
)

// Account is what is known of the allocator calls of this run.
type Account struct {
	Rec    *recording.Recording
	Losses recording.Losses // what is in no event
	Gaps   recording.Gaps   // what is in doubt
}

// Begin follows the begin of a run.
func (a *Account) Begin() {
	a.Rec.Reset()
	a.Losses, a.Gaps = recording.Losses{}, recording.Gaps{}
}

// LiveDoubt says why blocks that seem to be live may not be, those of a capture if that is
// not nil.
func (a *Account) LiveDoubt(saved *file.File) report.Doubt {
	switch {
	case saved != nil && saved.Info().Partial.Has(capture.FreedUnseen):
		return report.UnfollowedThen
	case saved == nil && a.Gaps.Blind():
		return report.UnfollowedSince
	}
	return report.NoDoubt
}
