package scenario

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// trouble is something that an optional detector is to find.
type trouble struct {
	detector, condition string
	alert               string // event type; the recovery's has "_recovered" behind it
	picture             string // the variant of the alert's evidence that shows the condition
	measured            string // a field of the event's measured
	least, most         float64
	toggle              func(s *livestream.Stream, on bool) time.Time // nil: the one before makes it, too
	late                time.Duration                                 // by which it may be seen later than in the next sample
}

// sampleTolerance is how far the instant of an optional detector may be off: it is that of a sample, and
// nothing between two samples is searched. On a busy machine five checks in a row may be missing.
const sampleTolerance = ExactTolerance + 10*time.Second

// PlayDetectors plays what optional detectors are to find. Conditions of picture and sound come side
// by side. Each is seen from onset to recovery (sections 3.1, 3.3, 4.3, 6.8, 16.1 and 16.2). The
// thresholds and the instants are asserted in virtual time, by the tests of the domain.
func (e *Env) PlayDetectors(t *testing.T) {
	t.Helper()
	stereo, larger, sound := livestream.Muxed144p, livestream.Muxed360p, livestream.AudioOnly
	stereo.Stereo, stereo.Captions, sound.Stereo = true, true, true
	s := e.Watch(t, Video{
		Config: livestream.Config{Renditions: []livestream.Rendition{stereo, larger}},
		Detectors: map[string]any{
			"freeze": map[string]any{"threshold_sec": 10}, "test_pattern": map[string]any{"threshold_sec": 4}, "slate": map[string]any{"threshold_sec": 4}, "one_sided": map[string]any{"threshold_sec": 4},
			"loudness_low": map[string]any{"threshold_sec": 4, "below_lufs": -30}, "rendition": map[string]any{"threshold_sec": 10},
			"captions_missing": map[string]any{"threshold_sec": 10}, "picture_damage": map[string]any{"threshold_sec": 4},
			"clipping": map[string]any{"threshold_sec": 4}, "loudness_high": map[string]any{"threshold_sec": 4},
		},
	})
	all := [][]trouble{{
		{"freeze", "frozen", "alert.freeze", "onset", "still_sec", 10, 90, (*livestream.Stream).Still, 0},
		{"captions_missing", "captions_missing", "alert.captions_missing", "onset", "captions", 0, 0, (*livestream.Stream).NoCaptions, 0},
		{"one_sided", "one_sided", "alert.one_sided", "level", "right_dbfs", -120, -60, (*livestream.Stream).LeftOnly, 0},
	}, {
		{"test_pattern", "test_pattern", "alert.test_pattern", "onset", "bar_strips", 3, 18, (*livestream.Stream).Bars, 0},
		{"slate", "slate", "alert.slate", "onset", "similarity", 0.92, 1, nil, 0},
		{"loudness_low", "quiet", "alert.loudness_low", "level", "loudness_lufs", -50, -30, (*livestream.Stream).Quiet, 0},
	}, {
		{"picture_damage", "picture_damage", "alert.picture_damage", "onset", "damaged_share", 0.2, 1, (*livestream.Stream).Damage, 0},
		{"clipping", "clipped", "alert.clipping", "level", "full_scale_share", 0.2, 1, (*livestream.Stream).Overload, 0},
		{"loudness_high", "loud", "alert.loudness_high", "level", "loudness_lufs", -5, 5, nil, 0},
	}}
	// Picture, sound and captions as text have playlists of their own in another stream. A text in the packets of the
	// picture would count as well. A third one has them in DASH.
	apart := e.Watch(t, Video{
		Config: livestream.Config{Renditions: []livestream.Rendition{livestream.Video144p, sound, livestream.CaptionText}},
		Detectors: map[string]any{
			"captions_missing": map[string]any{"threshold_sec": 10}, "one_sided": map[string]any{"threshold_sec": 4},
			"test_pattern": map[string]any{"threshold_sec": 10}, "clipping": map[string]any{"threshold_sec": 4}, "loudness_high": map[string]any{"threshold_sec": 4},
		},
	})
	dash, captions := e.Watch(t, Video{
		Config: livestream.Config{Renditions: []livestream.Rendition{livestream.Video144p, sound, livestream.CaptionText}, Packaging: livestream.Packaging{DASH: livestream.TimelineTime}}, OwnServer: true,
		Detectors: map[string]any{"captions_missing": map[string]any{"threshold_sec": 10}},
	}), all[0][1:2]
	allApart := [][]trouble{
		all[0][1:], {{"test_pattern", "test_pattern", "alert.test_pattern", "onset", "tone_share", 0.8, 1, (*livestream.Stream).Bars, 0}}, all[2][1:],
	}
	e.UploadBars(t, "/api/v1/monitors/"+s.ID)
	s.WaitChecks(2, time.Minute) // a picture that never moved cannot freeze, and captions that never came cannot be missed
	// The other rendition is looked at each 10 s; on a busy machine two looks in a row may be missing. Meanwhile the others come and go.
	blacken := func(stream *livestream.Stream, on bool) time.Time { return stream.BlackIn(larger.Itag, on) }
	rendition := trouble{"rendition", "rendition_bad", "alert.rendition", "onset", "black", 1, 1, blacken, 30 * time.Second}
	black, dashBegins := rendition.toggle(s.Stream, true), toggle(dash, captions, true)
	for i, together := range all {
		begins, beginsApart := toggle(s, together, true), toggle(apart, allApart[i], true)
		for i, c := range together {
			assertAlert(s, c, begins[i])
		}
		if i == 0 {
			assertShown(s, assertAlert(s, rendition, black))
			assertRenditions(s, map[int]string{larger.Height: "black"})
			rendition.toggle(s.Stream, false)
			assertAlert(dash, captions[0], dashBegins[0])
			assertRecoveries(dash, captions, dashBegins, toggle(dash, captions, false))
		}
		for i, c := range allApart[i] {
			assertAlert(apart, c, beginsApart[i])
		}
		ends, endsApart := toggle(s, together, false), toggle(apart, allApart[i], false)
		assertRecoveries(s, together, begins, ends)
		assertRecoveries(apart, allApart[i], beginsApart, endsApart)
	}
	s.WaitEvent("alert.rendition_recovered", time.Minute)
	assertRenditions(s, map[int]string{larger.Height: "ok"})
	s.End()
	s.WaitEvent(Ended, time.Minute)
	for _, c := range append(slices.Concat(all...), rendition) {
		s.Eventually(t, 20*time.Second, "the incident tells of the end of "+c.condition, func() bool { return incidentCondition(s, c)["ended_at"] != nil })
	}
}

// assertRecoveries waits for the recoveries of what was found together.
func assertRecoveries(s *Stream, together []trouble, begins, ends []time.Time) {
	s.T.Helper()
	for i, c := range together {
		back := s.WaitEvent(c.alert+"_recovered", time.Minute)
		AssertNear(s.T, c.alert+": started_at of the recovery", back.Data.StartedAt, begins[i], sampleTolerance)
		AssertNear(s.T, c.alert+": recovered_at", back.Data.RecoveredAt, ends[i], sampleTolerance)
	}
}

// toggle begins or ends what is found together, and returns the instants.
func toggle(s *Stream, together []trouble, on bool) (at []time.Time) {
	for i, c := range together {
		if c.toggle == nil {
			at = append(at, at[i-1])
			continue
		}
		at = append(at, c.toggle(s.Stream, on))
	}
	return at
}

// UploadBars uploads the colour bars of streams as a reference of a monitor or a channel, in another size, and returns its id.
// A stream without a scheduled start has to show another picture first, else they are wanted (section 17.6).
func (e *Env) UploadBars(t *testing.T, of string) string {
	t.Helper()
	path, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		t.Fatal(err)
	}
	bars, err := testtools.FFmpeg(t.Context(), path, "", nil, "-f", "lavfi", "-i", "smptebars=size=1280x720", "-frames:v", "1", "-c:v", "png", "-f", "image2pipe", "-")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := e.Service.Call(t.Context(), http.MethodPost, of+"/references?name=Bars", bars, [2]string{"Content-Type", "image/png"})
	id, _ := answer.Body["reference_id"].(string)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("the upload of a reference is answered %d %v, %v", answer.Status, answer.Body, err)
	}
	return id
}

// assertAlert waits for the alert of a condition, and for what health, incident and evidence show of it. It returns
// the alert.
func assertAlert(s *Stream, c trouble, begin time.Time) webhookreceiver.Delivery {
	s.T.Helper()
	alert := s.WaitEvent(c.alert, time.Minute)
	s.T.Logf("%s: measured %v", c.alert, alert.Data.Measured)
	AssertNear(s.T, c.alert+": started_at", alert.Data.StartedAt, begin, sampleTolerance+c.late)
	if value, found := alert.Data.Measured[c.measured]; !found || value < c.least || value > c.most {
		s.T.Errorf("%s has measured %v, want a %s of %g to %g", c.alert, alert.Data.Measured, c.measured, c.least, c.most)
	}
	if is := c.detector == "slate"; is != (alert.Data.Reference == "Bars") {
		s.T.Errorf("%s names the reference %q", c.alert, alert.Data.Reference)
	}
	health := c.condition
	if c.detector == "picture_damage" {
		health = "damaged" // the only one with two names
	}
	s.Eventually(s.T, 10*time.Second, "health shows "+health, func() bool {
		conditions, _ := s.Health("conditions").([]any)
		return slices.ContainsFunc(conditions, func(each any) bool {
			condition, _ := each.(map[string]any)
			values, _ := condition["values"].(map[string]any)
			return condition["detector"] == c.detector && condition["state"] == health && condition["alerted"] == true && values[c.measured] != nil
		})
	})
	s.Eventually(s.T, 20*time.Second, "the incident tells of "+c.condition, func() bool {
		told, _ := incidentCondition(s, c)["alert"].(map[string]any)
		return told["event_id"] == alert.EventID
	})
	if _, err := s.CheckEvidence(s.Limit(s.T, 45*time.Second), alert.EventID, c.picture); err != nil {
		s.T.Errorf("%s: %v", c.alert, err)
	}
	return alert
}

// incidentCondition returns what the only incident of a stream tells of a condition; nil: nothing.
func incidentCondition(s *Stream, c trouble) map[string]any {
	s.T.Helper()
	answer, err := s.Service.Call(s.T.Context(), http.MethodGet, "/api/v1/incidents?monitor_id="+s.ID, nil)
	incidents, _ := answer.Body["incidents"].([]any)
	if err != nil || len(incidents) != 1 {
		return nil
	}
	incident, _ := incidents[0].(map[string]any)
	conditions, _ := incident["conditions"].([]any)
	for _, each := range conditions {
		if condition, _ := each.(map[string]any); condition["name"] == c.condition {
			return condition
		}
	}
	return nil
}
