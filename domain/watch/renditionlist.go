package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// learn takes the renditions of an answer, or where they are listed.
func (o otherRenditionLooks) learn(answer Resolution) {
	others, interval, picture := &o.state.Others, o.rules.renditionInterval(), o.state.Feeds.picture()
	if interval == 0 || picture == nil || !answer.hasMedia() {
		return
	}
	others.ListURL, others.Egress = answer.Manifest, answer.Egress
	if others.TurnAt.IsZero() {
		others.TurnAt = o.now.Add(interval)
	}
	if others.ListURL == "" {
		o.list(answer.Renditions, answer.Began)
	}
}

// list takes in a list of the stream's renditions that began to be read at a time. One that is known and not
// listed is gone. It is forgotten after recoveryLooks: the stream goes on without it.
func (o otherRenditionLooks) list(listed []Rendition, began time.Time) {
	others := &o.state.Others
	o.revise()
	listed = besideWatched(listed, o.state.Feeds.picture())
	known, found := slices.Clone(others.All), make([]*otherRendition, len(listed))
	for _, exactly := range []bool{true, false} { // packagers that measure the bandwidth change it now and then
		for i, l := range listed {
			at := slices.IndexFunc(known, func(r *otherRendition) bool {
				return r.Height == l.Height && (r.Bandwidth == l.Bandwidth || !exactly)
			})
			if found[i] == nil && at >= 0 {
				found[i] = known[at]
				known = slices.Delete(known, at, at+1)
			}
		}
	}
	for i, l := range listed {
		if found[i] == nil {
			found[i] = &otherRendition{State: detector.RenditionUnknown}
		}
		found[i].URL, found[i].Height, found[i].Bandwidth = l.URL, l.Height, l.Bandwidth
	}
	next := slices.Clone(found)
	for _, r := range known {
		r.URL, r.LookedAt = "", began
		r.record(detector.RenditionGone, &o.emitter)
		if o.now.Sub(r.Since) < recoveryLooks {
			next = append(next, r)
		}
	}
	slices.SortStableFunc(next, func(a, b *otherRendition) int {
		return cmp.Or(cmp.Compare(b.Height, a.Height), cmp.Compare(b.Bandwidth, a.Bandwidth))
	})
	others.All = next
}

// besideWatched returns the renditions with a picture, without the watched one, the largest first. Of those that are
// equally large only the first is returned. If some carry the same tracks as the watched one, the
// others are left out: a stream may list each picture with and without its sound.
func besideWatched(listed []Rendition, watched *mediaFeed) []Rendition {
	pictures := slices.DeleteFunc(slices.Clone(listed), func(r Rendition) bool { return !r.HasVideo || r.Alternate || r.URL == "" })
	pictures = preferOthers(pictures, func(r Rendition) bool { return r.HasAudio != watched.Quality.HasAudio })
	slices.SortStableFunc(pictures, func(a, b Rendition) int {
		return cmp.Or(cmp.Compare(b.Height, a.Height), cmp.Compare(b.Bandwidth, a.Bandwidth))
	})
	pictures = slices.CompactFunc(pictures, func(a, b Rendition) bool { return a.Height == b.Height && a.Bandwidth == b.Bandwidth })
	nearest := -1
	for i, r := range pictures {
		off := func(r Rendition) int {
			return max(r.Bandwidth-watched.Quality.Bandwidth, watched.Quality.Bandwidth-r.Bandwidth)
		}
		switch {
		case r.URL == watched.URL:
			pictures = slices.Delete(pictures, i, i+1)
			return pictures[:min(len(pictures), maxOtherRenditions)]
		case r.Height == watched.Quality.Height && (nearest < 0 || off(r) < off(pictures[nearest])):
			nearest = i
		}
	}
	if nearest >= 0 { // its URL differs in each list that is signed anew
		pictures = slices.Delete(pictures, nearest, nearest+1)
	}
	return pictures[:min(len(pictures), maxOtherRenditions)]
}
