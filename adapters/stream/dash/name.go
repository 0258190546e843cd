package dash

import (
	"cmp"
	"net/url"
	"strconv"
)

// tracks is what a representation has in it.
type tracks string

const (
	video tracks = "video"
	audio tracks = "audio"
	both  tracks = "both"
)

// has tells whether what is asked for can be had of t.
func (t tracks) has(asked tracks) bool { return t == asked || t == both }

// repName identifies a representation across updates and Periods: by what it
// is, and what it would be called again. id alone will not do: it need not be the same in
// the next Period, and audio and video may share one.
type repName struct {
	tracks    tracks
	id, lang  string
	bandwidth int // bits per second
}

// String makes a URL's fragment of it.
func (n repName) String() string {
	v := url.Values{"kind": {string(n.tracks)}, "id": {n.id}, "bandwidth": {strconv.Itoa(n.bandwidth)}}
	if n.lang != "" {
		v.Set("lang", n.lang)
	}
	return v.Encode()
}

// parseName reads what String made; false: it names no representation.
func parseName(part string) (repName, bool) {
	v, err := url.ParseQuery(part)
	n := repName{tracks: tracks(v.Get("kind")), id: v.Get("id"), lang: v.Get("lang")}
	bandwidth, errNumber := strconv.ParseUint(v.Get("bandwidth"), 10, 32)
	n.bandwidth = int(bandwidth)
	known := n.tracks == video || n.tracks == audio || n.tracks == both
	return n, err == nil && errNumber == nil && known
}

// closer compares how well two representations that have what is asked for
// correspond to it: less is better.
func (n repName) closer(a, b representation) int {
	differs := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(differs(a.name.tracks != n.tracks), differs(b.name.tracks != n.tracks)),
		cmp.Compare(differs(a.name.id != n.id), differs(b.name.id != n.id)),
		cmp.Compare(differs(a.name.lang != n.lang), differs(b.name.lang != n.lang)),
		cmp.Compare(differs(a.alternate), differs(b.alternate)),
		nearer(a.name.bandwidth, b.name.bandwidth, n.bandwidth),
	)
}

// nearer compares how far two numbers are from a third.
func nearer(a, b, to int) int {
	distance := func(n int) int { return max(n, to) - min(n, to) }
	return cmp.Compare(distance(a), distance(b))
}
