package hls_test

import (
	"testing"

	oracle "github.com/Eyevinn/hls-m3u8/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// compareVariants compares the variants one by one, and the sounds as far as
// the oracle hands them out: with the variants that name their group.
func compareVariants(t *testing.T, renditions []watch.Rendition, list *oracle.MasterPlaylist) {
	t.Helper()
	var variants []*oracle.Variant
	for _, v := range list.Variants {
		if !v.Iframe {
			variants = append(variants, v)
		}
	}
	if len(variants) > len(renditions) {
		t.Fatalf("%d renditions, the oracle has %d", len(renditions), len(variants))
	}
	sounds := map[string]watch.Rendition{}
	for _, r := range renditions[len(variants):] {
		if _, twice := sounds[r.URL]; twice || r.HasVideo {
			t.Errorf("a sound twice, or with pictures: %+v", r)
		}
		sounds[r.URL] = r
	}
	for i, v := range variants {
		r := renditions[i]
		if r.URL != absolute(t, v.URI) || r.Bandwidth != int(v.Bandwidth) || r.Alternate {
			t.Errorf("rendition %d: %+v, the oracle has %+v", i, r, v)
		}
		compareSounds(t, r, v, sounds)
	}
}

func compareSounds(t *testing.T, r watch.Rendition, v *oracle.Variant, sounds map[string]watch.Rendition) {
	t.Helper()
	var group []*oracle.Alternative
	own, apart := 0, true
	for _, a := range v.Alternatives {
		if a.Type != "AUDIO" {
			continue
		}
		if a.Default && (len(group) == 0 || !group[own].Default) {
			own = len(group)
		}
		group = append(group, a)
		apart = apart && a.URI != "" && absolute(t, a.URI) != r.URL
	}
	if len(group) == 0 {
		return
	}
	if r.HasVideo && apart && r.HasAudio {
		t.Errorf("%+v has sound, the oracle has it apart", r)
	}
	for i, a := range group {
		s, listed := sounds[absolute(t, a.URI)]
		if listed && a.URI != "" && i == own && s.Alternate {
			t.Errorf("%+v is an alternate, the oracle has it for the group's own", s)
		}
	}
}
