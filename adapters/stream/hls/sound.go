package hls

import (
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// sound is one EXT-X-MEDIA of TYPE=AUDIO: one of the sounds that go with the
// variants that name its group (RFC 8216, 4.3.4.1).
type sound struct {
	group     string
	uri       string // as written; empty: it is in the variants themselves
	url       string // uri made absolute
	isDefault bool   // DEFAULT=YES
}

// sounds are all of a master, in the order in which it lists them.
type sounds []sound

// resolve makes the URIs absolute. It is false if one of them cannot be fetched.
func (all sounds) resolve(base *url.URL) (ok bool) {
	for i, s := range all {
		if s.uri == "" {
			continue
		}
		if all[i].url, ok = resolve(base, s.uri); !ok {
			return false
		}
	}
	return true
}

// apart tells whether all sounds of a group are in playlists of their own,
// apart from the variant at this URL. One without a URI is in the variant
// (RFC 8216, 4.3.4.1), and so is one with the variant's URL.
func (all sounds) apart(group, variant string) bool {
	elsewhere := false
	for _, s := range all {
		if s.group != group {
			continue
		}
		if s.url == "" || s.url == variant {
			return false
		}
		elsewhere = true
	}
	return elsewhere
}

// own tells which sound of each group is the stream's own: the one with
// DEFAULT=YES, else the first, since that is what players choose.
func (all sounds) own() map[string]int {
	own := map[string]int{}
	for i, s := range all {
		if first, known := own[s.group]; !known || s.isDefault && !all[first].isDefault {
			own[s.group] = i
		}
	}
	return own
}

// join adds to the renditions of the variants the sounds that have a playlist
// of their own, each once, whatever number of groups it is in. A sound that is
// the own one of any group is no alternate.
func (all sounds) join(list []watch.Rendition) []watch.Rendition {
	places := make(map[string]int, len(list)+len(all))
	for i, r := range list {
		places[r.URL] = i
	}
	own := all.own()
	for i, s := range all {
		if s.url == "" {
			continue
		}
		alternate := own[s.group] != i
		if place, listed := places[s.url]; listed {
			list[place].Alternate = list[place].Alternate && alternate
			continue
		}
		places[s.url] = len(list)
		list = append(list, watch.Rendition{URL: s.url, HasAudio: true, Alternate: alternate})
	}
	return list
}
