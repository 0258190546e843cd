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
	Copy      int  `json:"copy,omitempty"` // which of those that are equal otherwise, on several servers: from 0, by URL
}

func (r Rendition) quality() quality {
	return quality{r.Height, r.Bandwidth, r.HasVideo, r.HasAudio, r.Alternate, r.copy}
}

// numberCopies returns the renditions by URL, and numbers those that are equal otherwise.
func numberCopies(all []Rendition) []Rendition {
	all = slices.SortedFunc(slices.Values(all), func(a, b Rendition) int { return cmp.Compare(a.URL, b.URL) })
	copies := map[quality]int{}
	for i, r := range all {
		all[i].copy = copies[r.quality()]
		copies[r.quality()]++
	}
	return all
}

// choice is a rendition to watch, and the tracks that its feed judges.
type choice struct {
	rendition Rendition
	tracks    trackSet
}

// chooseRenditions picks the smallest or the best rendition with both tracks
// (decision S8). If no rendition has both, it picks one for each track. If only one
// track exists, that rendition stands for both: the missing track counts as black
// or silent (decision S4). A rendition in avoid is the last choice. The result is
// empty when no rendition carries a track.
func chooseRenditions(all []Rendition, p RenditionPreference, avoid []quality) []choice {
	all = numberCopies(all)
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
		return []choice{{picture, trackSet{Video: true}}, {sound, trackSet{Audio: true}}}
	case len(video) > 0:
		return []choice{{pickRendition(video, p, avoid), bothTracks}}
	case len(audio) > 0:
		return []choice{{pickRendition(audio, p, avoid), bothTracks}}
	}
	return nil
}

// pickRendition picks one of the candidates, of which there is at least one. An
// unknown size counts as the largest. Candidates of equal size are ordered by URL,
// so that the next choice is the same.
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

// preferOthers removes the renditions that are worse, unless all of them are.
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
