package corpus

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Condition is the kind of a bad interval: that of a detector.
type Condition = trouble.Name

// The conditions that every monitor watches for.
const (
	Black  = trouble.Black
	Silent = trouble.Silent
)

// Threshold is the time that a condition must last for an alert, in every item.
const Threshold = 10 * time.Second

// Item is one clip of the corpus.
type Item struct {
	Name        string        // unique
	Description string        // what the clip shows, and the reason for the verdict
	Length      float64       // seconds, default 36
	Picture     Picture       // default show
	Sound       Sound         // default music
	Codec       []string      // of the picture: arguments of ffmpeg, default H.264
	Segment     time.Duration // target of the packager, whole seconds, default 2 s
	Missing     *MissingTrack // a track that is missing for a while, default none
	Lost        [2]float64    // segments that begin in this part have lost packets of their picture
	Truth       []BadInterval // everything that is bad for 0.5 s or longer, in order for each condition

	// Runs are the optional detectors that the clip is about, and Settings those of theirs that
	// differ from the default, by field.
	Runs     []detector.Name
	Settings map[string]float64
	Sampled  bool // tests that run often play it
	Defaults bool // thresholds are those of a registration, in place of Threshold

	References []Reference
	Start      float64 // the scheduled one, in seconds of the clip; 0: none is known

	stream stream
}

// BadInterval is a part of a clip that is black, silent or without a track, by the
// definitions of the package.
type BadInterval struct {
	Of       Condition
	From, To float64 // seconds of the clip; To is the first good time or the end of the clip
	Fade     float64 // seconds that the fade out and the fade in take; 0: a cut
}

// MissingTrack is a track without packets in the segments that begin in a part of the
// clip.
type MissingTrack struct {
	Of        Condition // Black: the video track; Silent: the audio track
	From, To  float64   // seconds, boundaries of segments
	Announced bool      // the tables still announce the track
}

// black and silent make a bad interval from its start and end in seconds.
func black(from, to float64) BadInterval  { return BadInterval{Of: Black, From: from, To: to} }
func silent(from, to float64) BadInterval { return BadInterval{Of: Silent, From: from, To: to} }

// Alert reports whether an alert is expected that starts at From; otherwise none is.
func (s BadInterval) Alert() bool { return seconds(s.To-s.From) >= Threshold }

// faded makes the edges of the interval fades of d seconds.
func (s BadInterval) faded(d float64) BadInterval { s.Fade = d; return s }

// silences returns silent intervals without an alert.
func silences(spans ...[2]float64) (all []BadInterval) {
	for _, s := range spans {
		all = append(all, silent(s[0], s[1]))
	}
	return all
}

// Items lists the corpus, pictures first. Names are unique.
func Items() []Item {
	return completed(slices.Concat(cutsAndFades, darkScenes, formats, sounds, missingTracks, combined))
}

// completed fills in defaults.
func completed(all []Item) []Item {
	for n := range all {
		i := &all[n]
		i.Length, i.Segment = cmp.Or(i.Length, 36), cmp.Or(i.Segment, 2*time.Second)
		if i.Picture.source == "" {
			i.Picture = show()
		}
		if i.Sound.source == "" {
			i.Sound = music()
		}
	}
	return all
}

// sample names the items of Sample: one for each kind of cause.
var sample = []string{
	"cut to black", "fade of 2 s", "night with lamps", "a flash in the black",
	"digital silence", "speech with pauses", "the sound's track vanishes", "black and silent at once",
}

// Sample lists eight items of the corpus, which show what each part of it is about. Tests
// that run often use them; "make quality" plays the whole corpus.
func Sample() (all []Item) {
	for _, i := range Items() {
		if slices.Contains(sample, i.Name) {
			all = append(all, i)
		}
	}
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
