package corpus

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// frozen stops the picture in each part: the last frame before it stays.
func (p Picture) frozen(parts ...[2]float64) Picture {
	return p.withFilter("select='not(%s)',fps=%d", frames(parts...), Rate)
}

// freezes are standing pictures, and pictures that only look so.
var freezes = []Item{
	{Name: "freeze of a film", Sampled: true, Description: "The last frame before second 20.4 stays until second 58.", Picture: film().frozen([2]float64{20.4, 58}), Truth: []BadInterval{{Of: "frozen", From: 20.4, To: 58}}},
	{Name: "freeze of a concert, segments of 5 s", Description: "As that of a film.", Segment: 5 * time.Second, Picture: show().frozen([2]float64{20.4, 58}), Truth: []BadInterval{{Of: "frozen", From: 20.4, To: 58}}},
	{Name: "slow film", Sampled: true, Description: "A slow zoom moves."},
}

// OfDetectors lists the clips of the optional detectors.
func OfDetectors() []Item {
	var all []Item
	for _, group := range []struct {
		runs  []detector.Name
		items []Item
	}{
		{[]detector.Name{detector.Freeze}, freezes},
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
