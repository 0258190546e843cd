package detector_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
)

var placeholder = regexp.MustCompile(`\{(\w*)\}`)

func TestEveryRowIsCompleteAndNamesNothingTwice(t *testing.T) {
	detectortest.Add(t, detectortest.Imaginary)
	detectortest.Add(t, detectortest.Optional)
	if len(detector.Table) > detector.MaxDetectors {
		t.Errorf("%d detectors, MaxDetectors is %d", len(detector.Table), detector.MaxDetectors)
	}
	var names []string
	for i, d := range detector.Table {
		if detector.Index(d.Name) != i {
			t.Errorf("%s is not at %d", d.Name, i)
		}
		if d.Track != detector.Video && d.Track != detector.Audio {
			t.Errorf("%s is of the track %q", d.Name, d.Track)
		}
		if len(d.Settings) > detector.MaxSettings {
			t.Errorf("%s has %d settings, MaxSettings is %d", d.Name, len(d.Settings), detector.MaxSettings)
		}
		if !d.Threshold.Whole || d.Threshold.Min < 1 {
			t.Errorf("%s: its threshold is not a whole number of seconds from 1", d.Name)
		}
		for language, p := range map[string]detector.Phrases{"en": d.Words.English, "ja": d.Words.Japanese} {
			for _, text := range []string{p.Title, p.State, p.Alert, p.Recovered, p.Means, p.First, p.Check, p.Settings[d.Threshold.Field]} {
				if text == "" {
					t.Errorf("%s, %s: words are missing: %+v", d.Name, language, p)
				}
			}
			if strings.Contains(fmt.Sprint(p), "YouTube") {
				t.Errorf("%s, %s: the words name a source: %+v", d.Name, language, p)
			}
			if !strings.Contains(p.Lasts, "{lasted}") {
				t.Errorf("%s, %s: %q does not say for how long", d.Name, language, p.Lasts)
			}
			for _, s := range d.Settings {
				if p.Settings[s.Field] == "" {
					t.Errorf("%s, %s: %s has no label", d.Name, language, s.Field)
				}
			}
			for _, m := range placeholder.FindAllStringSubmatch(p.Means, -1) {
				if !slices.ContainsFunc(d.Criteria, func(c detector.Criterion) bool { return c.Name == m[1] }) {
					t.Errorf("%s, %s: %q names the criterion %q, which the row lacks", d.Name, language, p.Means, m[1])
				}
			}
		}
		rises := d.Severities()
		ascending := func(a, b detector.Rise) int {
			return max(cmp.Compare(a.After, b.After), cmp.Compare(a.Severity, b.Severity))
		}
		if rises[0].After != 0 || !slices.IsSortedFunc(rises, ascending) {
			t.Errorf("%s: the severity rises %v", d.Name, rises)
		}
		names = append(names, string(d.Name), "condition "+string(d.Condition), d.Alert, d.Recovered, d.Statistic)
		for _, s := range d.AllSettings() {
			names = append(names, s.Field)
			if path := "detectors." + string(d.Name) + "."; d.Optional && s.Field != path+s.Key() || !d.Optional && s.Field != s.Key() {
				t.Errorf("%s: the field %s is not that of an optional detector (%t)", d.Name, s.Field, d.Optional)
			}
			if !s.Accepts(s.Default) || s.Accepts(s.Max+1) || s.Accepts(s.Min-1) || s.Help == "" {
				t.Errorf("%s: the default %v is outside %s, or there is no help", s.Field, s.Default, s.Range())
			}
		}
	}
	if slices.Contains(names, "") {
		t.Errorf("a name is missing: %q", names)
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("a name stands twice: %q", names)
	}
}

func TestConditionsAreOfOneTrackInTheOrderOfTheTable(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	detectortest.Add(t, detectortest.Imaginary)
	if got := detector.Conditions(detector.Video); !slices.Equal(got, []string{"black", "imaginary"}) {
		t.Errorf("video: %q", got)
	}
	if got := detector.Conditions(detector.Audio); !slices.Equal(got, []string{"silent"}) {
		t.Errorf("audio: %q", got)
	}
}

func TestIndexPanicsOnAnUnknownName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Index found a row that is not there")
		}
	}()
	detector.Index("nothing")
}
