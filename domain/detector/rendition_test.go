package detector_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// listed puts renditions into a sample. Since is the second at which the first of the looks began.
func listed(all ...detector.Rendition) func(*detector.Sample) {
	return func(s *detector.Sample) { s.Renditions = all }
}

func TestARenditionIsBadAfterTwoLooksUntilTwoLooksFindItGood(t *testing.T) {
	of := func(height int, state detector.RenditionState, looks int) detector.Rendition {
		return detector.Rendition{Height: height, State: state, Looks: looks, Since: epoch}
	}
	const ok, black, failed, gone, unknown = detector.RenditionOK, detector.RenditionBlack, detector.RenditionFailed, detector.RenditionGone, detector.RenditionUnknown
	for name, samples := range map[string][]struct {
		renditions []detector.Rendition
		want       string
	}{
		"none is known": {{nil, "unknown"}, {[]detector.Rendition{of(720, unknown, 0)}, "unknown"}},
		"bad twice, good twice": {
			{[]detector.Rendition{of(720, ok, 1)}, "good"}, {[]detector.Rendition{of(720, black, 1)}, "unknown"}, {[]detector.Rendition{of(720, black, 2)}, "0-25"},
			{[]detector.Rendition{of(720, failed, 2)}, "30-35"}, {[]detector.Rendition{of(720, ok, 1)}, "40-45"}, {[]detector.Rendition{of(720, ok, 2)}, "good"},
		},
		"bad once is nothing": {{[]detector.Rendition{of(720, black, 1), of(360, ok, 2)}, "good"}, {[]detector.Rendition{of(720, ok, 1), of(360, ok, 2)}, "good"}},
		"unknown neither begins nor ends": {
			{[]detector.Rendition{of(720, black, 2), of(360, ok, 2)}, "0-5"}, {[]detector.Rendition{of(720, unknown, 0), of(360, ok, 2)}, "unknown"},
			{[]detector.Rendition{of(720, black, 1), of(360, ok, 2)}, "20-25"}, {[]detector.Rendition{of(720, unknown, 0), of(360, gone, 2)}, "0-35"},
		},
		"one after another is one condition": {
			{[]detector.Rendition{of(720, gone, 2), of(360, ok, 2)}, "0-5"}, {[]detector.Rendition{of(720, gone, 2), of(360, failed, 2)}, "0-15"},
			{[]detector.Rendition{of(720, ok, 2), of(360, failed, 2)}, "20-25"}, {[]detector.Rendition{of(360, ok, 2)}, "good"},
		},
		"one that is watched now, or forgotten, is none": {{[]detector.Rendition{of(720, gone, 2), of(360, ok, 2)}, "0-5"}, {[]detector.Rendition{of(360, ok, 2)}, "good"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := judge(t, detector.BadRendition)
			for _, s := range samples {
				j.sample(detector.Measured{}, s.want, listed(s.renditions...))
			}
		})
	}
}

func TestTheValuesSayWhichRenditionIsBadAndHow(t *testing.T) {
	d := detector.Table[detector.Index(detector.BadRendition)]
	s := detector.Sample{Measured: detector.Measured{Taken: d.Needs}, Renditions: []detector.Rendition{
		{Height: 1080, Bandwidth: 4_500_000, State: detector.RenditionOK, Looks: 2},
		{Height: 720, Bandwidth: 2_800_000, State: detector.RenditionStalled, Looks: 2},
		{Height: 360, Bandwidth: 800_000, State: detector.RenditionBlack, Looks: 2},
	}}
	_, v := d.Judge(nil, epoch, s, nil)
	if named, ok := detector.NamedRendition(v.Values); !ok || named.Height != 720 || named.Bandwidth != 2_800_000 || named.State != detector.RenditionStalled {
		t.Errorf("the values %v name %+v", v.Values, named)
	}
	want := map[string]float64{"qualities": 3, "bad": 2, "height": 720, "kbps": 2800, "stalled": 1}
	for name, value := range want {
		if v.Values[name] != value {
			t.Errorf("%s is %v, want %v", name, v.Values[name], value)
		}
	}
	if len(v.Values) != len(want) {
		t.Errorf("the values are %v", v.Values)
	}
	for _, state := range detector.RenditionStates() {
		if label := d.Words.English.Values[string(state)]; (label != "") != state.Bad() {
			t.Errorf("%s has the label %q", state, label)
		}
	}
}
