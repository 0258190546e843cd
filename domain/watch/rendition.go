package watch

import (
	"cmp"
	"slices"
)

// quality is what a rendition is known by when its URL has been renewed.
type quality struct {
	Height    int  `json:"height,omitempty"`
	Bandwidth int  `json:"bandwidth,omitempty"`
	HasVideo  bool `json:"has_video,omitempty"`
	HasAudio  bool `json:"has_audio,omitempty"`
	Alternate bool `json:"alternate,omitempty"`
}

func (r Rendition) quality() quality {
	return quality{r.Height, r.Bandwidth, r.HasVideo, r.HasAudio, r.Alternate}
}

// choice is a rendition to watch, and what for.
type choice struct {
	rendition Rendition
	tracks    tracks // that are judged by it
}

// choose picks what to watch: of the renditions with both picture and sound the
// smallest or the best (decision S8); where picture and sound are apart, one of
// each. A stream that has no sound in any of them, or no picture, is watched as
// it is: it is silent, or black (S4). Those in avoid are taken only if there is
// no other. Nothing is chosen when none carries anything.
func choose(all []Rendition, p RenditionPreference, avoid []quality) []choice {
	with := func(video, audio bool) []Rendition {
		return slices.DeleteFunc(slices.Clone(all), func(r Rendition) bool {
			return r.URL == "" || r.HasVideo != video || r.HasAudio != audio
		})
	}
	both, video, audio := with(true, true), with(true, false), with(false, true)
	switch {
	case len(both) > 0:
		return []choice{{pick(both, p, avoid), bothTracks}}
	case len(video) > 0 && len(audio) > 0:
		picture, sound := pick(video, p, avoid), pick(audio, p, avoid)
		if picture.URL == sound.URL { // together after all
			return []choice{{picture, bothTracks}}
		}
		return []choice{{picture, tracks{Video: true}}, {sound, tracks{Audio: true}}}
	case len(video) > 0:
		return []choice{{pick(video, p, avoid), bothTracks}}
	case len(audio) > 0:
		return []choice{{pick(audio, p, avoid), bothTracks}}
	}
	return nil
}

// pick picks one of at least one candidate. A rendition whose size is not
// stated counts as larger than any that is.
func pick(candidates []Rendition, p RenditionPreference, avoid []quality) Rendition {
	candidates = unless(candidates, func(r Rendition) bool { return r.Alternate })
	candidates = unless(candidates, func(r Rendition) bool { return slices.Contains(avoid, r.quality()) })
	bySize := func(a, b Rendition) int {
		return cmp.Or(
			cmp.Compare(stated(a.Height), stated(b.Height)),
			cmp.Compare(stated(a.Bandwidth), stated(b.Bandwidth)),
			cmp.Compare(a.URL, b.URL), // any order will do, as long as it is the same next time
		)
	}
	if p == Best {
		candidates = unless(candidates, func(r Rendition) bool { return r.Height == 0 && r.Bandwidth == 0 })
		return slices.MaxFunc(candidates, bySize)
	}
	return slices.MinFunc(candidates, bySize)
}

// unless leaves out the renditions that are worse, unless all are.
func unless(all []Rendition, worse func(Rendition) bool) []Rendition {
	if better := slices.DeleteFunc(slices.Clone(all), worse); len(better) > 0 {
		return better
	}
	return all
}

func stated(n int) int {
	if n <= 0 {
		return int(^uint(0) >> 1)
	}
	return n
}
