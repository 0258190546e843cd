package dash

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// representation is a Representation that can be watched.
type representation struct {
	name      repName
	place     place
	height    int
	alternate bool
}

// usable gives the representations of a Period that can be watched, and counts
// the others by why they cannot.
func (p *presentation) usable(one period, left leftOut) []representation {
	var out []representation
	ranks := map[tracks]int{} // the best of each kind
	rank := map[int]int{}     // of each set
	elsewhere := hasSound(one)
	for i, set := range one.AdaptationSets {
		rank[i] = roleRank(set)
		for j, rep := range set.Representations {
			kind, why := classify(p.live, one, set, rep, elsewhere)
			if why != "" {
				left[why]++
				continue
			}
			out = append(out, representation{
				name: repName{
					tracks: kind, id: rep.Id, lang: set.Lang,
					bandwidth: int(rep.Bandwidth),
				},
				place:  place{i, j},
				height: height(set, rep),
			})
			ranks[kind] = max(ranks[kind], rank[i])
		}
	}
	for i := range out {
		out[i].alternate = rank[out[i].place.set] < ranks[out[i].name.tracks]
	}
	return out
}

// renditions lists what can be watched in the current Period: the newest that
// has begun and has anything.
func (p *presentation) renditions(remote bool) (watch.Playlist, error) {
	left := leftOut{}
	address := p.address()
	for _, one := range slices.Backward(p.periods) {
		var out watch.Playlist
		for _, r := range p.usable(one, left) {
			url := address + "#" + r.name.String()
			if slices.ContainsFunc(out.Renditions, func(other watch.Rendition) bool { return other.URL == url }) {
				continue // nothing tells them apart
			}
			out.Renditions = append(out.Renditions, watch.Rendition{
				URL:       url,
				Height:    r.height,
				Bandwidth: r.name.bandwidth,
				HasVideo:  r.name.tracks.has(video),
				HasAudio:  r.name.tracks.has(audio),
				Alternate: r.alternate,
			})
		}
		if len(out.Renditions) > 0 {
			return out, nil
		}
	}
	return watch.Playlist{}, left.failure(remote)
}

// choose finds what corresponds to the representation asked for in each
// Period. The newest Period of a live presentation with anything to watch must
// have it.
func (p *presentation) choose(asked repName, remote bool) (choice, error) {
	left := leftOut{}
	chosen, others := choice{}, false
	for _, one := range slices.Backward(p.periods) {
		all := p.usable(one, left)
		fit := slices.DeleteFunc(slices.Clone(all), func(r representation) bool { return !r.name.tracks.has(asked.tracks) })
		switch {
		case len(fit) > 0:
			chosen[one.index] = slices.MinFunc(fit, asked.closer).place
		case len(all) > 0:
			others = true
		}
		if p.live && others && len(chosen) == 0 {
			break
		}
	}
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case others:
		return nil, watch.NewFailure(watch.FailureExpired, "the current Period has nothing like the rendition asked for (%s)", asked.tracks)
	}
	return nil, left.failure(remote)
}
