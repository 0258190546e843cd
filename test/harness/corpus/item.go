package corpus

import (
	"time"
)

// Condition is what is wrong in a stretch.
type Condition string

// The conditions.
const (
	Black  Condition = "black"
	Silent Condition = "silent"
)

// Threshold is how long a condition must last for an alert, in every item.
const Threshold = 10 * time.Second

// Item is one clip of the corpus.
type Item struct {
	Name    string        // unique
	Shows   string        // what is to be seen or heard, and why the verdict is what it is
	Length  float64       // seconds
	Picture Picture       // its recipe
	Sound   Sound         // its recipe
	Codec   Codec         // of the picture, default H264
	Segment time.Duration // target of the packager, whole seconds, default 2 s
	Lost    *Loss         // a track that is missing for a while, default none
	Truth   []Stretch     // everything that is bad for 0.5 s or longer, in order for each condition
}

// Stretch is a part of a clip that is bad, as the definitions of the package
// have it.
type Stretch struct {
	Of       Condition
	From, To float64 // seconds of the clip; To is the first good instant, or the clip's end
	Alert    bool    // an alert is promised, with From as its beginning; otherwise, that there is none
	Fade     float64 // how many seconds the picture or sound takes to go and come; 0: a cut
}

// Lasts is how long the stretch is.
func (s Stretch) Lasts() time.Duration { return seconds(s.To - s.From) }

// Loss is a track that has no packets in the segments that begin in a part of
// the clip.
type Loss struct {
	Of       Condition // Black: the video track; Silent: the audio track
	From, To float64   // seconds, boundaries of segments
	Listed   bool      // the container still announces the track
}

// black and silent are stretches of a table, by their beginning and end.
func black(from, to float64) Stretch  { return Stretch{Of: Black, From: from, To: to} }
func silent(from, to float64) Stretch { return Stretch{Of: Silent, From: from, To: to} }

// alert promises an alert for the stretch.
func (s Stretch) alert() Stretch { s.Alert = true; return s }

// faded says that the edges of the stretch are fades of d seconds.
func (s Stretch) faded(d float64) Stretch { s.Fade = d; return s }

// between are the stretches of a condition into which moments, each as long as
// one frame, cut the time from from to to.
func between(from, to float64, moments ...float64) (all []Stretch) {
	for _, m := range moments {
		all = append(all, black(from, m))
		from = m + 1./Rate
	}
	return append(all, black(from, to))
}

// pauses are silent stretches without an alert.
func pauses(spans ...[2]float64) (all []Stretch) {
	for _, s := range spans {
		all = append(all, silent(s[0], s[1]))
	}
	return all
}

// Target is how long the segments are to be.
func (i Item) Target() time.Duration {
	if i.Segment == 0 {
		return 2 * time.Second
	}
	return i.Segment
}

// Items lists the corpus, pictures first. Names are unique.
func Items() []Item {
	var all []Item
	for _, table := range [][]Item{cuts, darkness, formats, sounds, losses, together} {
		all = append(all, table...)
	}
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
