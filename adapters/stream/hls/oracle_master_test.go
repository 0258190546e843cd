package hls_test

import (
	"testing"

	oracle "github.com/Eyevinn/hls-m3u8/m3u8"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// compareVariants compares every variant, and the audio renditions of its group.
// The oracle returns no other audio renditions.
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
	audio := map[string]watch.Rendition{}
	for _, r := range renditions[len(variants):] {
		if _, duplicate := audio[r.URL]; duplicate || r.HasVideo {
			t.Errorf("an audio rendition is listed twice or has video: %+v", r)
		}
		audio[r.URL] = r
	}
	for i, v := range variants {
		r := renditions[i]
		if r.URL != absolute(t, v.URI) || r.Bandwidth != int(v.Bandwidth) || r.Alternate {
			t.Errorf("rendition %d: %+v, the oracle has %+v", i, r, v)
		}
		compareAudio(t, r, v, audio)
	}
}

// compareAudio compares the audio group of a variant with the audio renditions by
// their URLs.
func compareAudio(t *testing.T, r watch.Rendition, v *oracle.Variant, audio map[string]watch.Rendition) {
	t.Helper()
	var group []*oracle.Alternative
	primary, separate := 0, true
	for _, a := range v.Alternatives {
		if a.Type != "AUDIO" {
			continue
		}
		if a.Default && (len(group) == 0 || !group[primary].Default) {
			primary = len(group)
		}
		group = append(group, a)
		separate = separate && a.URI != "" && absolute(t, a.URI) != r.URL
	}
	if len(group) == 0 {
		return
	}
	if r.HasVideo && separate && r.HasAudio {
		t.Errorf("%+v has audio, the oracle has it in another playlist", r)
	}
	for i, a := range group {
		s, listed := audio[absolute(t, a.URI)]
		if listed && a.URI != "" && i == primary && s.Alternate {
			t.Errorf("%+v is an alternate, for the oracle it is the group's default", s)
		}
	}
}
