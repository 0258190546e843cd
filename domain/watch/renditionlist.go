package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// learn takes the renditions of an answer, or where they are listed: that also for a detector that is switched on
// before the next answer.
func (o otherRenditionLooks) learn(answer Resolution) {
	others, interval, picture := &o.state.Others, o.rules.renditionInterval(), o.state.Feeds.picture()
	if picture == nil || !answer.hasMedia() {
		return
	}
	others.ListURL, others.Egress, others.Header = answer.Manifest, answer.Egress, answer.Header
	if interval == 0 {
		return
	}
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
	listed = besideWatched(listed, o.state.Feeds.picture(), others.ListURL)
	known, matched := slices.Clone(others.All), make([]*otherRendition, len(listed))
	for _, exactly := range []bool{true, false} { // packagers that measure the bandwidth change it now and then
		for i, l := range listed {
			at := slices.IndexFunc(known, func(r *otherRendition) bool {
				return r.Height == l.Height && (r.Bandwidth == l.Bandwidth || !exactly)
			})
			if matched[i] == nil && at >= 0 {
				matched[i] = known[at]
				known = slices.Delete(known, at, at+1)
			}
		}
	}
	for i, l := range listed {
		if matched[i] == nil {
			matched[i] = &otherRendition{State: detector.RenditionUnknown}
		}
		matched[i].URL, matched[i].Height, matched[i].Bandwidth = l.URL, l.Height, l.Bandwidth
		matched[i].Readable = matched[i].Readable || slices.ContainsFunc(others.Watched, func(q quality) bool {
			return q.Height == l.Height && q.Bandwidth == l.Bandwidth
		})
	}
	next := slices.Clone(matched)
	for _, r := range known {
		r.URL, r.LookedAt, r.decoded = "", began, nil
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
// equally large only the first is returned, and of those with one URL, as for several kinds of sound, the largest.
// None has the URL of the list. If some carry the same tracks as the watched one, the
// others are left out: a stream may list each picture with and without its sound.
func besideWatched(listed []Rendition, watched *mediaFeed, listURL string) []Rendition {
	others := slices.DeleteFunc(slices.Clone(listed), func(r Rendition) bool { return !r.HasVideo || r.Alternate || r.URL == "" })
	taken := map[string]bool{listURL: true}
	if at := indexOfWatched(others, watched); at >= 0 {
		taken[others[at].URL] = true
	}
	others = slices.DeleteFunc(others, func(r Rendition) bool { return taken[r.URL] })
	others = preferOthers(others, func(r Rendition) bool { return r.HasAudio != watched.Quality.HasAudio })
	slices.SortStableFunc(others, func(a, b Rendition) int {
		return cmp.Or(cmp.Compare(b.Height, a.Height), cmp.Compare(b.Bandwidth, a.Bandwidth))
	})
	others = slices.DeleteFunc(others, func(r Rendition) bool {
		again := taken[r.URL]
		taken[r.URL] = true
		return again
	})
	others = slices.CompactFunc(others, func(a, b Rendition) bool { return a.Height == b.Height && a.Bandwidth == b.Bandwidth })
	return others[:min(len(others), maxOtherRenditions)]
}

// indexOfWatched returns where the watched rendition is in a list; -1: it is not. A list that is signed anew has
// other URLs. It is then the one of its height whose bandwidth is nearest.
func indexOfWatched(listed []Rendition, watched *mediaFeed) int {
	if at := slices.IndexFunc(listed, func(r Rendition) bool { return r.URL == watched.URL }); at >= 0 {
		return at
	}
	nearest := -1
	off := func(r Rendition) int {
		return max(r.Bandwidth-watched.Quality.Bandwidth, watched.Quality.Bandwidth-r.Bandwidth)
	}
	for i, r := range listed {
		if r.Height == watched.Quality.Height && (nearest < 0 || off(r) < off(listed[nearest])) {
			nearest = i
		}
	}
	return nearest
}
