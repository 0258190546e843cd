package dash

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// tracks says which tracks a representation has.
type tracks string

const (
	video tracks = "video"
	audio tracks = "audio"
	muxed tracks = "both" // as written in the URLs of renditions
	text  tracks = "text" // captions
)

// include reports whether t has the wanted tracks.
func (t tracks) include(wanted tracks) bool { return t == wanted || t == muxed && wanted != text }

// representationKey identifies a representation across updates and Periods. The id
// alone may change in the next Period, and may be that of a video and an audio.
type representationKey struct {
	tracks    tracks
	id, lang  string
	bandwidth int // bits per second
}

// String returns the key as the fragment of a URL.
func (k representationKey) String() string {
	v := url.Values{"kind": {string(k.tracks)}, "id": {k.id}, "bandwidth": {strconv.Itoa(k.bandwidth)}}
	if k.lang != "" {
		v.Set("lang", k.lang)
	}
	return v.Encode()
}

// parseKey parses the output of String. It returns false for any other fragment.
func parseKey(fragment string) (representationKey, bool) {
	v, err := url.ParseQuery(fragment)
	k := representationKey{tracks: tracks(v.Get("kind")), id: v.Get("id"), lang: v.Get("lang")}
	bandwidth, errBandwidth := strconv.ParseUint(v.Get("bandwidth"), 10, 32)
	k.bandwidth = int(bandwidth)
	known := k.tracks == video || k.tracks == audio || k.tracks == muxed || k.tracks == text
	return k, err == nil && errBandwidth == nil && known
}

// compare orders two representations with the wanted tracks: the one that matches k
// better comes first.
func (k representationKey) compare(a, b representation) int {
	return cmp.Or(
		falseFirst(a.key.tracks != k.tracks, b.key.tracks != k.tracks),
		falseFirst(a.key.id != k.id, b.key.id != k.id),
		falseFirst(a.key.lang != k.lang, b.key.lang != k.lang),
		falseFirst(a.alternate, b.alternate),
		cmp.Compare(distance(a.key.bandwidth, k.bandwidth), distance(b.key.bandwidth, k.bandwidth)),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func distance(a, b int) int { return max(a, b) - min(a, b) }

// representation is a Representation that can be watched.
type representation struct {
	key       representationKey
	position  position
	height    int
	alternate bool
	captioned bool // captions are declared in the packets of its picture
}

// representations returns those of a Period that can be watched. It counts the
// others in excluded.
func (p *presentation) representations(period timedPeriod, excluded exclusions) []representation {
	var out []representation
	bestRank := map[tracks]int{}
	setRanks := make([]int, len(period.AdaptationSets))
	separateAudio := hasAudioSet(period)
	for i, set := range period.AdaptationSets {
		setRanks[i] = roleRank(set)
		for j, rep := range set.Representations {
			has, reason := classify(p.live, period, set, rep, separateAudio)
			if reason != "" {
				excluded[reason]++
				continue
			}
			out = append(out, representation{
				key:      representationKey{tracks: has, id: rep.Id, lang: set.Lang, bandwidth: int(rep.Bandwidth)},
				position: position{i, j},
				height:   height(set, rep),

				captioned: declaresCaptions(set),
			})
			bestRank[has] = max(bestRank[has], setRanks[i])
		}
	}
	for i := range out {
		out[i].alternate = setRanks[out[i].position.set] < bestRank[out[i].key.tracks]
	}
	return out
}

// renditions lists the representations of the newest Period with any that can be
// watched, and its main captions. Of several with the same URL it lists the first.
func (p *presentation) renditions(hasRemote bool) (watch.Playlist, error) {
	excluded := exclusions{}
	mpdURL := p.updateURL()
	for _, period := range slices.Backward(p.periods) {
		out := watch.Playlist{Defect: p.defect}
		hasMedia := false
		for _, r := range p.representations(period, excluded) {
			isText := r.key.tracks == text
			if hasMedia = hasMedia || !isText; isText {
				excluded[isTextOrImage]++
			}
			if isText && r.alternate {
				continue
			}
			url := mpdURL + "#" + r.key.String()
			if slices.ContainsFunc(out.Renditions, func(other watch.Rendition) bool { return other.URL == url }) {
				continue
			}
			out.Renditions = append(out.Renditions, watch.Rendition{
				URL:       url,
				Height:    r.height,
				Bandwidth: r.key.bandwidth,
				HasVideo:  r.key.tracks.include(video),
				HasAudio:  r.key.tracks.include(audio),
				Alternate: r.alternate,

				HasCaptions: isText || r.captioned,
			})
		}
		if hasMedia {
			return out, nil
		}
	}
	return watch.Playlist{}, excluded.failure(hasRemote)
}

// selectRepresentation selects the best match for wanted in each Period. If the
// newest Period of a live MPD has representations but no match, the failure is
// expired.
func (p *presentation) selectRepresentation(wanted representationKey, hasRemote bool) (selection, error) {
	excluded := exclusions{}
	selected, mismatch := selection{}, false
	for _, period := range slices.Backward(p.periods) {
		all := p.representations(period, excluded)
		matching := slices.DeleteFunc(slices.Clone(all), func(r representation) bool { return !r.key.tracks.include(wanted.tracks) })
		switch {
		case len(matching) > 0:
			selected[period.index] = slices.MinFunc(matching, wanted.compare).position
		case len(all) > 0:
			mismatch = true
		}
		if p.live && mismatch && len(selected) == 0 {
			break
		}
	}
	switch {
	case len(selected) > 0:
		return selected, nil
	case mismatch:
		return nil, watch.NewFailure(watch.FailureExpired, "the current Period has no rendition like the one asked for (%s)", wanted.tracks)
	}
	return nil, excluded.failure(hasRemote)
}
