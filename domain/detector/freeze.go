package detector

import (
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// Freeze is a picture that stands still though it moved earlier in the broadcast (section 6.8).
const Freeze Name = "freeze"

var freeze = Detector{
	Name: Freeze, Track: Video, Health: "frozen", Condition: "frozen",
	Alert: "alert.freeze", Recovered: "alert.freeze_recovered", Statistic: "freeze_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.freeze.threshold_sec", Min: 10, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of a picture that stands still before alert.freeze.",
	},
	Criteria: []Criterion{{Name: "mean_difference_at_most", Value: stillMean}, {Name: "block_ratio_at_most", Value: stillRatio}},
	Words:    freezeWords,
	Example:  map[string]float64{"still_sec": 35, "sound_moves": 1},
	Needs:    Pictures | Movement, Rule: remembering(judgeFreeze),
}

// Two pictures are still if their mean difference is at most stillMean grey levels, and no block differs much
// more than the others. That is at most stillRatio times the median block, which counts as at least 1. An encoder's
// noise is everywhere, a clock or a chat is in one place.
const (
	stillMean  = 5.0
	stillRatio = 3.0
)

// An encoder that begins with a still settles for the time settling. Until then only a change beyond its noise, in
// grey levels, shows that the picture moves. The change is one of the mean, or, after the first coarse pictures, of a block.
const (
	settling      = time.Minute
	settlingNoise = 12.0
	coarse        = 15 * time.Second
	coarseBlock   = 40.0
)

// frozen is the memory of Freeze.
type frozen struct {
	Age    time.Duration `json:"age,omitempty"`    // of the watched broadcast, up to settling
	Moved  bool          `json:"moved,omitempty"`  // the picture has moved in this broadcast
	Anchor []byte        `json:"anchor,omitempty"` // luma of the first picture of the standstill; valid while since is set
	Width  int           `json:"width,omitempty"`  // of the pictures
	Proved bool          `json:"proved,omitempty"` // every frame of a segment of this standstill was seen to be still
}

// judgeFreeze compares key frames with the first one of the standstill, across samples. A pan or a fade
// grows with distance, and an encoder's noise does not. A loop may have equal key frames. So
// every frame of one later segment has to be still as well; the watch decodes them only once two
// samples have shown a standstill.
func judgeFreeze(m frozen, since time.Time, s Sample, _ func(string) float64) (frozen, Verdict) {
	if len(s.Pictures) == 0 {
		return m, Verdict{Unknown: true, Since: since}
	}
	if width := s.Pictures[0].Width; width != m.Width && !since.IsZero() { // another rendition of the same
		m.Width, m.Anchor = width, s.Pictures[len(s.Pictures)-1].Luma
		return m, Verdict{Unknown: true, Since: since, Closely: m.Proved}
	}
	m.Width, m.Proved = s.Pictures[0].Width, m.Proved && !since.IsZero()
	if m.Age < settling {
		m.Age += s.To.Sub(instant.Latest(s.Before, s.From.Add(-settling)))
		if s.Before.IsZero() {
			m.Age = s.To.Sub(s.From)
		}
	}
	moved := func(c FrameChange) bool {
		return m.Age >= settling || c.Mean > settlingNoise || m.Age >= coarse && c.Block > coarseBlock
	}
	began, wasProved, changedAt := since, m.Proved, time.Time{}
	end := func(at time.Duration) {
		m.Proved, since = false, time.Time{}
		if changedAt.IsZero() {
			changedAt = s.At(at)
		}
	}
	moves, fromBlack := s.Movement, false
	moveUntil := func(at time.Duration) { // a key frame's own change is that to the key frame before
		for ; len(moves) > 0 && moves[0].At <= at; moves = moves[1:] {
			if !moves[0].still() {
				m.Moved = m.Moved || moved(moves[0]) && !fromBlack && !s.isBlack(moves[0].At)
				end(moves[0].At)
			}
		}
	}
	for _, p := range s.Pictures {
		moveUntil(p.At)
		fromBlack = s.isBlack(p.At)
		change := compareDigests(m.Anchor, p.Luma)
		switch {
		case fromBlack: // blackout tells that; it begins no standstill, and a still that was black for a while has not moved
			end(p.At)
		case since.IsZero():
			m.Anchor, since = p.Luma, s.At(p.At)
		case !change.still():
			m.Moved = m.Moved || moved(change)
			end(p.At)
			m.Anchor, since = p.Luma, s.At(p.At)
		}
	}
	moveUntil(math.MaxInt64)

	v := Verdict{Since: since, Values: map[string]float64{"still_sec": 0, "sound_moves": truth(s.hasSound())}}
	if wasProved && !changedAt.IsZero() && changedAt.After(s.From) {
		v.Bad = []Period{{began, changedAt}}
		v.Values["still_sec"] = changedAt.Sub(began).Seconds()
	}
	if across := !since.IsZero() && since.Before(s.From); !across {
		return m, v
	}
	if !m.Moved {
		v.Values = map[string]float64{"unmoved_sec": s.To.Sub(since).Seconds()}
		return m, v
	}
	m.Proved = m.Proved || !s.Video.Screened
	v.Closely = true
	v.Values["still_sec"] = s.To.Sub(since).Seconds()
	if m.Proved {
		v.Bad = append(v.Bad, Period{since, s.To})
	}
	return m, v
}

// still reports whether a picture stands still against another.
func (c FrameChange) still() bool { return c.Mean <= stillMean && c.Ratio <= stillRatio }

// compareDigests compares the luma of two pictures. A block is two by two cells.
func compareDigests(a, b []byte) FrameChange {
	if len(a) != DigestWidth*DigestHeight || len(b) != len(a) {
		return FrameChange{Mean: 255, Ratio: 255}
	}
	var blocks [DigestWidth * DigestHeight / 4]float64
	c := FrameChange{}
	for i := range blocks {
		cell := 2*(i/(DigestWidth/2))*DigestWidth + 2*(i%(DigestWidth/2))
		for _, at := range []int{cell, cell + 1, cell + DigestWidth, cell + DigestWidth + 1} {
			blocks[i] += max(float64(a[at])-float64(b[at]), float64(b[at])-float64(a[at])) / 4
		}
		c.Mean += blocks[i] / float64(len(blocks))
		c.Block = max(c.Block, blocks[i])
	}
	slices.Sort(blocks[:])
	c.Ratio = c.Block / max(blocks[len(blocks)/2], 1)
	return c
}

// isBlack reports whether the picture is black at a measured time.
func (s Sample) isBlack(at time.Duration) bool {
	return slices.ContainsFunc(s.Intervals[Blackout], func(i Interval) bool { return i.From <= at && at < i.To })
}

// hasSound reports whether sound was decoded that is not silent throughout, here or in another feed.
func (s Sample) hasSound() bool {
	return s.OtherSound || s.Audio.Decoded() && !slices.ContainsFunc(s.Intervals[Silence], func(i Interval) bool { return i.From <= s.Audio.From && i.To >= s.Audio.To })
}

// truth is 1 for true.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
