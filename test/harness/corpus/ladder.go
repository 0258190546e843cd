package corpus

import (
	_ "embed" // of the ladders
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed testdata/ladders.json
var ladders []byte

// Ladder is a stream of several qualities. testdata/ladders.json says what its fields mean.
type Ladder struct {
	Name, What, Why string
	Segment         float64 `json:"segment_sec"`
	Length          float64 `json:"run_sec"`
	AudioGroup      bool    `json:"audio_group"` // the sound is a playlist of its own
	Picture         string  // default moving
	Qualities       []Quality
	Happens         []Happening
	Expected        string // alert, none or undecided
	Quality         string
	Recovers        bool
}

// Quality is one variant of a Ladder.
type Quality struct {
	Name, Codec, Host  string
	Width, Height, FPS int
	Kbps               int
	AudioOnly          bool    `json:"audio_only"`
	Segment            float64 `json:"segment_sec"` // default that of the Ladder
	FirstSequence      int     `json:"first_sequence"`
}

// Happening is what happens to one quality, or to all.
type Happening struct {
	Kind, Quality  string
	From           float64 `json:"from_sec"`
	To             float64 `json:"to_sec"` // 0: until the end
	Status         int
	Lag            float64 `json:"lag_sec"`
	Delay          float64 `json:"delay_sec"`
	TokensValidFor float64 `json:"valid_sec"`
}

// Lasts reports whether the happening is on at a time, in seconds.
func (h Happening) Lasts(at float64) bool { return at >= h.From && (h.To == 0 || at < h.To) }

// Of reports whether the happening is one of a quality.
func (h Happening) Of(quality string) bool { return h.Quality == quality || h.Quality == "all" }

// Ladders lists the ladders of testdata/ladders.json, which were described without a look at the detector. known
// has the reasons why some are judged otherwise, by name. It panics if the file is wrong.
func Ladders() (all []Ladder, known map[string]string) {
	var file struct {
		About   []string
		Known   map[string]string
		Ladders []Ladder
	}
	decoder := json.NewDecoder(strings.NewReader(string(ladders)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		panic(fmt.Sprintf("corpus: ladders.json: %v", err))
	}
	return file.Ladders, file.Known
}

// audioGroup is the playlist of an audio group.
var audioGroup = Quality{Name: "audio", AudioOnly: true, Kbps: 64}

// Playlists returns the qualities and, of a ladder with an audio group, its sound.
func (l Ladder) Playlists() []Quality {
	all := slices.Clone(l.Qualities)
	if l.AudioGroup {
		all = append(all, audioGroup)
	}
	for i := range all {
		if all[i].Segment == 0 {
			all[i].Segment = l.Segment
		}
	}
	return all
}

// shown are the pictures of ladders, by what happens, for a size and a frame rate.
var shown = map[string]string{
	"moving":  "testsrc2=s=%[1]dx%[2]d:r=%[3]d,format=yuv420p," + grain,
	"dark":    "testsrc2=s=%[1]dx%[2]d:r=%[3]d,format=yuv420p,lutyuv=y='16+34*pow(max(0,val-16)/219,2)':u='128+(val-128)*0.2':v='128+(val-128)*0.2',noise=alls=2:allf=t",
	"black":   "color=c=black:s=%[1]dx%[2]d:r=%[3]d,format=yuv420p",
	"frozen":  "testsrc2=s=%[1]dx%[2]d:r=%[3]d,format=yuv420p,loop=loop=-1:size=1",
	"credits": "color=c=black:s=%[1]dx%[2]d:r=%[3]d,format=yuv420p,drawgrid=w=iw:h=ih/8:t=ih/40:c=white,drawgrid=w=iw/30:h=ih:t=iw/60:c=black,drawbox=w=iw/3:h=ih:c=black:t=fill,drawbox=x=2*iw/3:w=iw/3:h=ih:c=black:t=fill,scroll=vertical=0.002",
	"ads":     "testsrc2=s=%[1]dx%[2]d:r=%[3]d,format=yuv420p,hue=h=120,drawbox=w=iw:h=ih:c=black:t=fill:enable='lt(t,2)'",
}

// Item returns what a quality shows in four segments: a name in shown, or silent.
func (l Ladder) Item(q Quality, what string) Item {
	picture, sound := what, music()
	if what == "silent" {
		picture, sound = "moving", sound.muted([2]float64{0, 4 * q.Segment})
	}
	i := Item{
		Name: fmt.Sprintf("ladder %s %d %d %s %d kb/s", what, q.Height, q.FPS, q.Codec, q.Kbps), Length: 4 * q.Segment,
		Segment: time.Duration(q.Segment * float64(time.Second)), Sound: sound,
	}
	if q.AudioOnly {
		i.Picture, i.Missing = studio(), &MissingTrack{Of: Black, To: i.Length}
		return i
	}
	i.Picture = Picture{source: fmt.Sprintf(shown[picture], q.Width, q.Height, q.FPS)}
	if l.AudioGroup {
		i.Missing = &MissingTrack{Of: Silent, To: i.Length}
	}
	codec := q.Codec
	if codec == "h264" {
		codec = ""
	}
	i.Codec = furtherClip{Codec: codec, GOP: int(q.Segment), Kbps: q.Kbps}.encoder()
	i.stream.fragments = codec == "av1"
	return i
}

// Shows returns the name of what a quality shows at a time of its media.
func (l Ladder) Shows(q Quality, at float64) string {
	what := l.Picture
	if what == "" {
		what = "moving"
	}
	for _, h := range l.Happens {
		if _, is := shown[h.Kind]; h.Of(q.Name) && h.Lasts(at) && (is || h.Kind == "silent") {
			what = h.Kind
		}
	}
	if q.AudioOnly {
		return "moving"
	}
	return what
}
