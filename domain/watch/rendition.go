package watch

import (
	"cmp"
	"math"
	"slices"
)

// quality identifies a rendition across renewals of its URL.
type quality struct {
	Height    int  `json:"height,omitempty"`
	Bandwidth int  `json:"bandwidth,omitempty"` // bits per second
	HasVideo  bool `json:"has_video,omitempty"`
	HasAudio  bool `json:"has_audio,omitempty"`
	Alternate bool `json:"alternate,omitempty"`
}

func (r Rendition) quality() quality {
	return quality{r.Height, r.Bandwidth, r.HasVideo, r.HasAudio, r.Alternate}
}

// choice is a rendition to watch, and the tracks that are judged by it.
type choice struct {
	rendition Rendition
	tracks    tracks
}

// chooseRenditions picks what to watch: of the renditions with both tracks the
// smallest or the best (decision S8), else one of each track. A stream that has
// only one track in any of them is watched as it is, and so is black or silent
// (decision S4). Renditions in avoid are chosen only if there is no other. The
// result is empty when no rendition carries a track.
func chooseRenditions(all []Rendition, p RenditionPreference, avoid []quality) []choice {
	with := func(video, audio bool) []Rendition {
		return slices.DeleteFunc(slices.Clone(all), func(r Rendition) bool {
			return r.URL == "" || r.HasVideo != video || r.HasAudio != audio
		})
	}
	both, video, audio := with(true, true), with(true, false), with(false, true)
	switch {
	case len(both) > 0:
		return []choice{{pickRendition(both, p, avoid), bothTracks}}
	case len(video) > 0 && len(audio) > 0:
		picture, sound := pickRendition(video, p, avoid), pickRendition(audio, p, avoid)
		if picture.URL == sound.URL {
			return []choice{{picture, bothTracks}}
		}
		return []choice{{picture, tracks{Video: true}}, {sound, tracks{Audio: true}}}
	case len(video) > 0:
		return []choice{{pickRendition(video, p, avoid), bothTracks}}
	case len(audio) > 0:
		return []choice{{pickRendition(audio, p, avoid), bothTracks}}
	}
	return nil
}

// pickRendition picks one of at least one candidate. A rendition of unknown size
// counts as larger than any of known size. Equal ones are told apart by their
// URLs, so that the choice is the same next time.
func pickRendition(candidates []Rendition, p RenditionPreference, avoid []quality) Rendition {
	candidates = preferOthers(candidates, func(r Rendition) bool { return r.Alternate })
	candidates = preferOthers(candidates, func(r Rendition) bool { return slices.Contains(avoid, r.quality()) })
	bySize := func(a, b Rendition) int {
		return cmp.Or(
			cmp.Compare(sizeOrMax(a.Height), sizeOrMax(b.Height)),
			cmp.Compare(sizeOrMax(a.Bandwidth), sizeOrMax(b.Bandwidth)),
			cmp.Compare(a.URL, b.URL),
		)
	}
	if p == Best {
		candidates = preferOthers(candidates, func(r Rendition) bool { return r.Height == 0 && r.Bandwidth == 0 })
		return slices.MaxFunc(candidates, bySize)
	}
	return slices.MinFunc(candidates, bySize)
}

// preferOthers leaves out the renditions that are worse, unless all are.
func preferOthers(all []Rendition, worse func(Rendition) bool) []Rendition {
	if better := slices.DeleteFunc(slices.Clone(all), worse); len(better) > 0 {
		return better
	}
	return all
}

func sizeOrMax(n int) int {
	if n <= 0 {
		return math.MaxInt
	}
	return n
}
