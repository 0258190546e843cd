package livestream

import (
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// timeline lists the cues of a stream in order. It is safe for concurrent use.
type timeline struct {
	mu   sync.Mutex
	cues []Cue
}

// add inserts a cue after those of the same time.
func (t *timeline) add(c Cue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.cues, c, func(a, b Cue) int {
		if a.At <= b.At {
			return -1
		}
		return 1
	})
	t.cues = slices.Insert(t.cues, i, c)
}

// of returns the timeline of one rendition: without the cues of another one.
func (t *timeline) of(itag int) *timeline {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &timeline{cues: slices.DeleteFunc(slices.Clone(t.cues), func(c Cue) bool { return c.Itag != 0 && c.Itag != itag })}
}

// last returns the latest cue at or before at that does one of actions.
func (t *timeline) last(at time.Duration, actions ...Action) (Cue, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range slices.Backward(t.cues) {
		if c.At <= at && slices.Contains(actions, c.Do) {
			return c, true
		}
	}
	return Cue{}, false
}

// spans returns the intervals within [from, to) after on and before off, as offsets
// from from.
func (t *timeline) spans(from, to time.Duration, on, off Action) []span {
	last, ok := t.last(from, on, off)
	open := ok && last.Do == on
	var spans []span
	start := time.Duration(0)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.cues {
		if c.At <= from || c.At >= to {
			continue
		}
		switch {
		case c.Do == on && !open:
			open, start = true, c.At-from
		case c.Do == off && open:
			open = false
			spans = append(spans, span{start, c.At - from})
		}
	}
	if open {
		spans = append(spans, span{start, to - from})
	}
	return spans
}

// edge returns how far the playlists reach at instant at: at itself, or the
// instant at which they stopped. ended reports whether they have EXT-X-ENDLIST.
func (t *timeline) edge(at time.Duration) (edge time.Duration, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var frozen bool
	var since time.Duration
	for _, c := range t.cues {
		if c.At > at {
			break
		}
		switch c.Do {
		case Freeze:
			if !frozen {
				frozen, since = true, c.At
			}
		case Thaw:
			frozen = false
		case End:
			if frozen {
				return since, true
			}
			return c.At, true
		}
	}
	if frozen {
		return since, false
	}
	return at, false
}

// fault returns the fault of part at instant at, or nil.
func (t *timeline) fault(at time.Duration, part Part) httpfault.Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	var f httpfault.Fault
	for _, c := range t.cues {
		if c.At > at {
			break
		}
		if c.Part == part {
			f = c.Fault
			if c.Do == Heal {
				f = nil
			}
		}
	}
	return f
}

// span is an interval of media, from inclusive, to exclusive.
type span struct{ from, to time.Duration }
