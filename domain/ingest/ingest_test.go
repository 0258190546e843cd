package ingest_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

var asked = time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)

// all are the types of the discovery document, with the conditions that each explains.
var all = map[string]string{
	"gopSizeOver": "no_media", "gopSizeLong": "", "gopSizeShort": "", "openGop": "no_media",
	"badContainer": "black silent no_media", "audioCodec": "silent no_media", "videoCodec": "black no_media", "interlacedVideo": "",
	"audioTooManyChannels": "silent", "multipleVideoStreams": "black", "multipleAudioStreams": "silent",
	"noAudioStream": "silent no_media", "noVideoStream": "black no_media",
	"audioBitrateHigh": "", "audioBitrateLow": "", "audioSampleRate": "silent",
	"bitrateHigh": "", "bitrateLow": "", "frameRateHigh": "", "videoResolutionSuboptimal": "", "videoResolutionUnsupported": "black no_media",
	"videoIngestionStarved": "black silent no_media", "videoIngestionFasterThanRealtime": "no_media",
	"resolutionMismatch": "", "videoCodecMismatch": "", "videoInterlaceMismatch": "", "videoProfileMismatch": "", "videoBitrateMismatch": "", "framerateMismatch": "",
	"gopMismatch": "", "audioSampleRateMismatch": "", "audioStereoMismatch": "", "audioCodecMismatch": "", "audioBitrateMismatch": "",
	"somethingNew": "black silent no_media", // an error of a type that nobody knows
}

// healthWith returns the health of a live broadcast whose signal has issues.
func healthWith(issues ...ingest.Issue) ingest.Health {
	h := ingest.Match([]ingest.Broadcast{{"v", "live", "s"}}, []ingest.Signal{{"s", ingest.Health{Stream: "active", Signal: "bad", Issues: issues, JudgedAt: asked}}})["v"]
	h.AskedAt = asked
	return h
}

func TestEachOfThe34IssuesHasWordsAndExplainsWhatItCauses(t *testing.T) { // S24
	if n := len(ingest.Types()); n != 34 {
		t.Errorf("%d are known", n)
	}
	for name, explains := range all {
		if known := slices.Contains(ingest.Types(), name); known == (name == "somethingNew") {
			t.Errorf("%s is known: %v", name, known)
		}
		issue := ingest.Issue{Type: name, Severity: ingest.Error, Reason: "Check it"}
		for _, c := range []trouble.Name{trouble.Black, trouble.Silent, trouble.NoMedia, trouble.Late, trouble.Blind, "frozen"} {
			got := healthWith(issue).Cause(c, asked)
			if want := slices.Contains(strings.Fields(explains), string(c)); (got != nil) != want {
				t.Errorf("%s explains %s: %v", name, c, got)
			}
		}
		w := issue.Words()
		for language, p := range map[string]ingest.Phrases{"en": w.In("en"), "ja": w.In("ja")} {
			japanese := strings.ContainsFunc(p.Says+p.Do, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
			if p.Says == "" || p.Do == "" || japanese != (language == "ja") {
				t.Errorf("%s in %s: %q", name, language, p)
			}
		}
		if healthWith(ingest.Issue{Type: name}).Issues[0].Severity == "" {
			t.Errorf("%s has no severity without one of the API", name)
		}
	}
	if said := (ingest.Issue{Type: "somethingNew", Reason: "Check it"}).Words(); !strings.Contains(said.English.Says, "somethingNew: Check it") || !strings.Contains(said.Japanese.Says, "somethingNew: Check it") {
		t.Errorf("an unknown one says %q", said)
	}
}

func TestTheLikelyCauseIsTheWorstThatExplains(t *testing.T) { // S24
	issue := func(name string, s ingest.Severity) ingest.Issue { return ingest.Issue{Type: name, Severity: s} }
	starved, noVideo, unknown := issue("videoIngestionStarved", ingest.Warning), issue("noVideoStream", ingest.Error), issue("somethingNew", ingest.Error)
	judged := func(h ingest.Health, at time.Time) ingest.Health { h.JudgedAt = at; return h }
	silence := func(stream, signal string) ingest.Health {
		return ingest.Health{Broadcast: "live", Stream: stream, Signal: signal, AskedAt: asked}
	}
	for name, c := range map[string]struct {
		health ingest.Health
		of     trouble.Name
		at     time.Duration // after the question
		want   string
	}{
		"an error before a warning":          {healthWith(starved, noVideo), trouble.Black, 0, "noVideoStream"},
		"what explains it":                   {healthWith(starved, noVideo), trouble.Silent, 0, "videoIngestionStarved"},
		"known before unknown":               {healthWith(unknown, starved), trouble.Black, 0, "videoIngestionStarved"},
		"unknown if there is nothing else":   {healthWith(issue("bitrateLow", ingest.Error), unknown), trouble.Black, 0, "somethingNew"},
		"no unknown warning":                 {healthWith(issue("somethingNew", ingest.Warning)), trouble.Black, 0, ""},
		"a good signal":                      {healthWith(), trouble.Black, 0, ""},
		"no answer yet":                      {ingest.Health{}, trouble.Black, 0, ""},
		"an answer just young enough":        {healthWith(noVideo), trouble.Black, ingest.Life, "noVideoStream"},
		"an old answer":                      {healthWith(noVideo), trouble.Black, ingest.Life + time.Second, ""},
		"an old judgement":                   {judged(healthWith(noVideo), asked.Add(-11*time.Minute)), trouble.Black, 0, ""},
		"a judgement without a time":         {judged(healthWith(noVideo), time.Time{}), trouble.Black, 0, "noVideoStream"},
		"nothing arrives":                    {silence("inactive", "good"), trouble.NoMedia, 0, "noData"},
		"nothing is known of another stream": {silence("ready", "noData"), trouble.Black, 0, "noData"},
		"data arrive, nothing is known":      {silence("active", "noData"), trouble.Black, 0, ""},
		"nothing arrives before it is live":  {ingest.Health{Broadcast: "ready", Stream: "inactive", AskedAt: asked}, trouble.NoMedia, 0, ""},
		"no stream is bound":                 {silence("", ""), trouble.NoMedia, 0, ""},
	} {
		got := ""
		if cause := c.health.Cause(c.of, asked.Add(c.at)); cause != nil {
			got = cause.Type
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOfManyIssuesTheWorstAreKept(t *testing.T) {
	h := ingest.Match([]ingest.Broadcast{{"v", "live", "s"}, {"unbound", "ready", ""}}, []ingest.Signal{{"s", ingest.Health{
		Stream: "active", Issues: append(slices.Repeat([]ingest.Issue{{Type: "bitrateLow", Severity: "fatal"}, {}}, 30), ingest.Issue{Type: "openGop", Severity: ingest.Error}),
	}}, {"", ingest.Health{Stream: "of nobody"}}})
	if unbound := h["unbound"]; unbound.Broadcast != "ready" || unbound.Stream != "" {
		t.Errorf("the broadcast without a stream is %+v", unbound)
	}
	got := h["v"].Issues
	if len(got) != 20 || got[0].Type != "openGop" || got[1].Severity != ingest.Warning {
		t.Errorf("the issues are %+v", got)
	}
}
