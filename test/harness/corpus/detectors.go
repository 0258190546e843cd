package corpus

import "github.com/stream-monitor/stream-monitor/domain/detector"

// OfDetectors lists the clips of the optional detectors: those that show their condition, and those that only
// look or sound so.
func OfDetectors() []Item {
	var all []Item
	for _, group := range []struct {
		items []Item
		runs  []detector.Name
	}{
		{freezes, []detector.Name{detector.Freeze}},
		{testPatterns, []detector.Name{detector.TestPattern}},
		{slates, []detector.Name{detector.Slate}},
		{damages, []detector.Name{detector.PictureDamage}},
		{captioned, []detector.Name{detector.CaptionsMissing}},
		{quiets, []detector.Name{detector.LoudnessLow}},
		{louds, []detector.Name{detector.LoudnessHigh}},
		{clipped, []detector.Name{detector.Clipping}},
		{oneSides, []detector.Name{detector.OneSided}},
	} {
		for _, i := range group.items {
			i.Runs = group.runs
			if i.Length == 0 {
				i.Length = 75
			}
			all = append(all, i)
		}
	}
	return completed(all)
}
