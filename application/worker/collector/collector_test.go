package collector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// world is the other side of a Collector's ports.
type world struct {
	mu          sync.Mutex
	files       int // temporary files that are open
	room        int // bytes that further files may have; 0: any number; less: none
	stored      []string
	bodies      map[string][]byte
	refuse      func(u evidence.Upload) error // nil: every upload is accepted
	missing     func(s watch.Segment) bool
	fetched     []string // URIs
	reported    func(ctx context.Context)
	pictureHook func()
	extraAsked  int
	blackTo     time.Time // zero: second 110
	log         bytes.Buffer
	memory      *collector.Memory
}

func (w *world) ports() collector.Ports {
	return collector.Ports{Tools: w, Segments: w, Playlists: w, Store: w, Memory: w.memory, TempFile: func() (collector.TempFile, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.room < 0 {
			return nil, collector.ErrBudget
		}
		w.files++
		return &memoryFile{w: w}, nil
	}}
}

func (w *world) start(t *testing.T) *collector.Collector {
	t.Helper()
	n := 0
	w.bodies = map[string][]byte{}
	return collector.Start(t.Context(), w.ports(), collector.Config{
		MonitorID: "mon-1", Generation: 3,
		NewID: func() string { n++; return fmt.Sprintf("id-%d", n) },
		Reported: func(ctx context.Context) {
			if w.reported != nil {
				w.reported(ctx)
			}
		},
	}, slog.New(slog.NewTextHandler(&w.log, nil)))
}

func (w *world) collect(t *testing.T, jobs ...capture.Job) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := w.start(t)
		c.Add(jobs...)
		c.Stop(time.Minute)
	})
}

// memoryFile is a temporary file in memory.
type memoryFile struct {
	w       *world
	content []byte
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.w.room != 0 && int(off)+len(p) > f.w.room {
		return 0, collector.ErrBudget
	}
	f.content = append(f.content[:off], p...)
	return len(p), nil
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.content).ReadAt(p, off)
}

func (f *memoryFile) Close() error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.files--
	return nil
}

func (w *world) FetchSegment(_ context.Context, s watch.Segment) (io.ReadCloser, error) {
	if w.missing != nil && w.missing(s) {
		return nil, watch.NewFailure(watch.FailureExpired, "HTTP 404")
	}
	w.fetched = append(w.fetched, s.URI)
	return body(s), nil
}

func body(s watch.Segment) io.ReadCloser {
	return io.NopCloser(strings.NewReader("[" + s.URI + "]"))
}

// analyse reads segments as analysis does.
func analyse(t *testing.T, c *collector.Collector, segments ...watch.Segment) {
	t.Helper()
	for _, s := range segments {
		kept := c.Keep(s, body(s))
		content, err := io.ReadAll(kept)
		if err != nil || string(content) != "["+s.URI+"]" {
			t.Fatalf("read %s: %s %v", s.URI, content, err)
		}
		if err := kept.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) ReadPlaylist(_ context.Context, url string) watch.Playlist {
	w.extraAsked++
	return watch.Playlist{URL: url, Segments: segmentsOf("720", 90, 104)}
}

// Picture is black from second 100 to 110 or blackTo, and bright otherwise. A segment has a
// picture each 100 ms.
func (w *world) Picture(_ context.Context, m collector.Media, offset time.Duration) ([]byte, error) {
	if w.pictureHook != nil {
		w.pictureHook()
	}
	img := image.NewYCbCr(image.Rect(0, 0, 64, 36), image.YCbCrSubsampleRatio420)
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = 128, 128
	}
	if offset > m.Segment.Duration-100*time.Millisecond {
		offset -= time.Second
	}
	blackTo := at(110)
	if !w.blackTo.IsZero() {
		blackTo = w.blackTo
	}
	if when := m.Segment.ProgramTime.Add(offset); when.Before(at(100)) || !when.Before(blackTo) {
		for i := range img.Y {
			img.Y[i] = 180
		}
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, img, nil)
	return out.Bytes(), err
}

// Levels are those of a tone that is off from second 100 to 110.
func (w *world) Levels(_ context.Context, m collector.Media) (all []watch.Measure, _ error) {
	content, _ := io.ReadAll(m.Open())
	for i := range 2 * bytes.Count(content, []byte("[")) {
		level := -20.0
		if when := m.Segment.ProgramTime.Add(time.Duration(i) * time.Second); !when.Before(at(100)) && when.Before(at(110)) {
			level = -120
		}
		all = append(all, watch.Measure{At: time.Duration(i) * time.Second, Level: &level})
	}
	return all, nil
}

func (w *world) Remux(_ context.Context, media []collector.Media, begin func() (io.Writer, error), _ int64) error {
	for range 2 { // the first attempt fails halfway
		out, err := begin()
		if err != nil {
			return err
		}
		for _, m := range media {
			if _, err := io.Copy(out, m.Open()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) AddEvidence(_ context.Context, u evidence.Upload, body io.Reader) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(u); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s %s %s", u.Record.ID, u.Record.EventID, u.Record.Phase)
	if u.File == nil {
		line += " note: " + u.Record.Note
	} else {
		line += " " + string(u.File.Variant)
		body, err := io.ReadAll(body)
		if err != nil || int64(len(body)) != u.File.Size {
			return fmt.Errorf("%d bytes of %d: %w", len(body), u.File.Size, err)
		}
		w.bodies[string(u.File.Variant)] = body
		if m := u.File.Measure; m != nil && u.File.Width > 0 {
			line += fmt.Sprintf(" %.0f", *m)
		}
		if h := u.File.RenditionHeight; h > 0 {
			line += fmt.Sprintf(" of %dp", h)
		}
	}
	if u.Unclear {
		line += " unclear"
	}
	w.stored = append(w.stored, line)
	return nil
}

func segmentsOf(rendition string, from, to int) (all []watch.Segment) {
	for s := from; s < to; s += 2 {
		all = append(all, watch.Segment{URI: fmt.Sprintf("%s/%d", rendition, s), Sequence: uint64(s), Duration: 2 * time.Second, ProgramTime: at(float64(s))})
	}
	return all
}

// job is a step of a blackout from second 100 on.
func job(step capture.Step, eventID string, until int) capture.Job {
	return capture.Job{
		Key: "black", Step: step, Condition: "black", SilenceDB: -50, Phase: evidence.AlertPhase, EventID: eventID, Instant: at(100), Extra: watch.Rendition{URL: "720"},
		Fetch:      eventID != "",
		Pictures:   []capture.Picture{{Variant: evidence.Before, At: at(99)}, {Variant: evidence.Onset, At: at(100.3)}},
		Tracks:     []capture.Track{{Video: true, Audio: true, Segments: segmentsOf("144", 90, until)}},
		LevelsFrom: at(40), LevelsTo: at(160),
	}
}

func (w *world) expect(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.stored, want) {
		t.Errorf("stored\n  %s\nwant\n  %s\nlog:\n%s", strings.Join(w.stored, "\n  "), strings.Join(want, "\n  "), w.log.String())
	}
	if w.files != 0 {
		t.Errorf("%d temporary files are left", w.files)
	}
}

func TestAnAlertsEvidenceIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		c := w.start(t)
		c.Add(job(capture.Collect, "", 104))
		synctest.Wait()
		if len(w.stored) > 0 {
			t.Errorf("stored before the alert: %v", w.stored)
		}
		c.Add(job(capture.Report, "alert", 110), job(capture.Complete, "alert", 114))
		c.Stop(time.Minute)
		w.expect(t, "id-1 alert alert before 180", "id-1 alert alert onset 0", "id-1 alert alert levels", "id-1 alert alert level -120", "id-1 alert alert clip")
		want := ""
		for _, s := range segmentsOf("144", 90, 114) {
			want += "[" + s.URI + "]"
		}
		if got := string(w.bodies["clip"]); got != want {
			t.Errorf("the clip is %s, want %s", got, want)
		}
		if w.extraAsked != 1 {
			t.Errorf("the better rendition was asked for %d times", w.extraAsked)
		}
	})
}

func TestThePictureOfAnotherRenditionComesFromItsSegment(t *testing.T) { // section 16.2
	for name, c := range map[string]struct {
		missing string // the segment that cannot be had
		want    []string
	}{
		"it can be had": {"", []string{"id-1 alert alert before 180 of 144p", "id-1 alert alert onset 0 of 360p"}},
		"it cannot":     {"360/104", []string{"id-1 alert alert before 180 of 144p", "id-1 alert alert onset 180 of 144p"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{missing: func(s watch.Segment) bool { return s.URI == c.missing }}
			if c.missing != "" {
				w.blackTo = at(100) // the watched one is good
			}
			j := job(capture.Report, "alert", 114)
			j.Condition, j.Extra, j.Tracks[0].Height = "rendition_bad", watch.Rendition{}, 144
			j.Pictures[1] = capture.Picture{Variant: evidence.Onset, At: at(105), Segment: &segmentsOf("360", 104, 106)[0], Height: 360}
			end := j
			end.Step, end.Note = capture.Complete, "a note"
			w.collect(t, j, end)
			if len(w.stored) < 3 || !slices.Equal(w.stored[:2], c.want) {
				t.Errorf("stored %v, want %v", w.stored, c.want)
			}
			if last := w.stored[len(w.stored)-1]; !strings.Contains(last, "note: ") || !strings.HasSuffix(last, "a note") {
				t.Errorf("the last that was stored is %s", last)
			}
			if logged := strings.Contains(w.log.String(), "incomplete"); logged != (c.missing != "") {
				t.Errorf("log: %s", w.log.String())
			}
			if w.extraAsked > 0 {
				t.Errorf("a better rendition was asked for")
			}
		})
	}
}

func TestABrightOnsetIsUnclearOnlyWhereTheDetectorSaysSo(t *testing.T) { // section 16.2
	for condition, unclear := range map[trouble.Name]bool{"black": true, "frozen": false, "silent": false} {
		w := &world{blackTo: at(100.2)}
		j := job(capture.Complete, "alert", 114)
		j.Condition = condition
		w.collect(t, j)
		if got := strings.Contains(strings.Join(w.stored, "\n"), "unclear"); got != unclear || !slices.ContainsFunc(w.stored, func(l string) bool { return strings.Contains(l, "onset 180") }) {
			t.Errorf("%s: stored %v", condition, w.stored)
		}
	}
}

func TestMissingMediaCostANote(t *testing.T) {
	w := &world{missing: func(watch.Segment) bool { return true }}
	w.collect(t, job(capture.Complete, "alert", 92))
	if len(w.stored) != 1 || !strings.Contains(w.stored[0], "note: segment 90: expired: HTTP 404") || !strings.Contains(w.log.String(), "Evidence is incomplete") {
		t.Errorf("stored: %v; the log is %s", w.stored, w.log.String())
	}
}

func TestTheBudgetOfTheHostCostsANote(t *testing.T) {
	const note = " note: media: the captures of this host have used up EVIDENCE_BUDGET_MIB"
	for name, c := range map[string]struct {
		room, later int // before and after the alert
		want        []string
	}{
		"no room at all": {-1, -1, []string{"id-1 alert alert" + note + "; level: no sound is known; clip: no media are known unclear"}},
		"room for the first segments": {50, 50, []string{
			"id-1 alert alert before 180", "id-1 alert alert onset 0", "id-1 alert alert levels", "id-1 alert alert level -120", "id-1 alert alert clip", "id-1 alert alert" + note,
		}},
		"room in time": {-1, 0, []string{
			"id-1 alert alert before 180", "id-1 alert alert onset 0", "id-1 alert alert levels", "id-1 alert alert level -120", "id-1 alert alert clip",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{room: c.room}
				collecting := w.start(t)
				collecting.Add(job(capture.Collect, "", 104))
				synctest.Wait()
				w.mu.Lock()
				w.room = c.later
				w.mu.Unlock()
				collecting.Add(job(capture.Report, "alert", 110), job(capture.Complete, "alert", 114))
				collecting.Stop(time.Minute)
				w.expect(t, c.want...)
			})
		})
	}
}

func TestAnUploadIsRepeatedAtGrowingIntervals(t *testing.T) {
	for name, c := range map[string]struct {
		failures int // of the first upload
		err      error
		stored   int
	}{
		"the gateway is away for a moment": {3, errors.New("connection refused"), 5},
		"the gateway is away":              {1000, errors.New("connection refused"), 0},
		"another worker has taken over":    {1, monitor.ErrSuperseded, 0},
		"the monitor is unknown":           {1, monitor.Errorf(monitor.NotFound, "unknown"), 0},
		"one file is refused":              {1, monitor.Errorf(evidence.Conflict, "another file"), 5}, // the note instead of it
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				w := &world{refuse: func(evidence.Upload) error {
					if attempts++; attempts <= c.failures {
						return c.err
					}
					return nil
				}}
				collecting := w.start(t)
				collecting.Add(job(capture.Complete, "alert", 104))
				collecting.Stop(10 * time.Minute)
				if len(w.stored) != c.stored || attempts > 50 {
					t.Errorf("%d attempts, stored %v", attempts, w.stored)
				}
				if w.files != 0 {
					t.Errorf("%d temporary files are left", w.files)
				}
			})
		})
	}
}

// TestFilesBeyondTheQuotaAreLeftOut: the rest of the evidence is stored, and one line an hour says so.
func TestFilesBeyondTheQuotaAreLeftOut(t *testing.T) { // section 16.2
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		w := &world{refuse: func(u evidence.Upload) error {
			attempts++
			if u.File != nil && u.File.Variant == evidence.Clip {
				return monitor.Errorf(evidence.QuotaExceeded, "too much within an hour")
			}
			return nil
		}}
		collecting := w.start(t)
		for i, pause := range []time.Duration{0, time.Minute, time.Hour} {
			time.Sleep(pause)
			next := job(capture.Complete, fmt.Sprint("alert ", i), 104)
			next.Key = fmt.Sprint("black ", i)
			collecting.Add(next)
			time.Sleep(time.Second)
		}
		collecting.Stop(time.Minute)
		for i := range 3 {
			if last := w.stored[5*i+4]; !strings.HasSuffix(last, "note: clip: EVIDENCE_QUOTA_EXCEEDED: too much within an hour") {
				t.Errorf("capture %d ends with %q", i, last)
			}
		}
		if lines := strings.Count(w.log.String(), "takes no more files"); len(w.stored) != 15 || attempts != 18 || lines != 2 {
			t.Errorf("%d attempts, %d lines, stored %v", attempts, lines, w.stored)
		}
	})
}

func TestTheNewestJobsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		w := &world{pictureHook: func() { <-first }}
		c := w.start(t)
		c.Add(job(capture.Collect, "", 104))
		synctest.Wait() // it runs
		for i := range 20 {
			c.Add(job(capture.Collect, "", 104+2*i))
		}
		c.Add(job(capture.Complete, "alert", 150))
		close(first)
		c.Stop(time.Minute)
		if len(w.stored) != 5 {
			t.Errorf("stored %v", w.stored)
		}
	})
}

func TestStopEndsACaptureThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{reported: func(ctx context.Context) { <-ctx.Done() }}
		c := w.start(t)
		c.Add(job(capture.Complete, "alert", 104))
		began := time.Now()
		c.Stop(3 * time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
		c.Add(job(capture.Complete, "alert", 104)) // does nothing
		w.expect(t)
	})
}

func TestAPanicCostsTheEvidenceOnly(t *testing.T) {
	broken := true
	w := &world{pictureHook: func() {
		if broken {
			broken = false
			panic("a defect")
		}
	}}
	w.collect(t, job(capture.Complete, "first", 104), job(capture.Complete, "second", 104))
	if len(w.stored) != 5 || !strings.Contains(w.log.String(), "a defect") {
		t.Errorf("stored %v", w.stored)
	}
}

func TestADiscardedCaptureLeavesNothing(t *testing.T) {
	w := &world{}
	w.collect(t, job(capture.Collect, "", 104), capture.Job{Key: "black", Step: capture.Discard})
	w.expect(t)
}

// recoveryJob takes a picture of a recovery of media until a second.
func recoveryJob(recovered time.Time, until int) capture.Job {
	return capture.Job{
		Key: "recovery", Step: capture.Complete, Condition: "black", Phase: evidence.RecoveryPhase, EventID: "recovery", Instant: recovered, Fetch: true,
		Pictures: []capture.Picture{{Variant: evidence.Recovery, At: recovered.Add(500 * time.Millisecond)}},
		Tracks:   []capture.Track{{Video: true, Segments: segmentsOf("144", 90, until)}},
	}
}

// The recovery is often seen in the last frames of the newest segment.
func TestARecoveryAtTheEndOfTheMediaHasItsPicture(t *testing.T) {
	w := &world{}
	w.collect(t, recoveryJob(at(111.8), 112))
	w.expect(t, "id-1 recovery recovery recovery 180")
}

// No picture begins in the last moments of a segment, and the tools then take one of up to a
// second before.
func TestThePictureOfARecoveryIsNeverBeforeIt(t *testing.T) {
	for recovered := at(110); recovered.Before(at(112)); recovered = recovered.Add(50 * time.Millisecond) {
		w := &world{blackTo: recovered}
		w.collect(t, recoveryJob(recovered, 114))
		w.expect(t, "id-1 recovery recovery recovery 180")
	}
}

// away makes the gateway refuse every upload until d has passed.
func (w *world) away(d time.Duration) {
	until := time.Now().Add(d)
	w.refuse = func(evidence.Upload) error {
		if time.Now().Before(until) {
			return errors.New("connection refused")
		}
		return nil
	}
}

func TestEvidenceWaitsForAGatewayThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		w.away(90 * time.Second)
		c := w.start(t)
		c.Add(job(capture.Report, "alert", 110))
		time.Sleep(30 * time.Second)
		c.Add(job(capture.Complete, "alert", 114))
		time.Sleep(2 * time.Minute)
		w.expect(t, "id-1 alert alert before 180", "id-1 alert alert onset 0", "id-1 alert alert levels", "id-1 alert alert level -120", "id-1 alert alert clip")
		synctest.Wait()
		if w.log.Len() > 0 {
			t.Errorf("the log is %s", w.log.String())
		}
		c.Stop(0)
	})
}

func TestAGatewayThatIsAwayDelaysNoCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		w := &world{reported: func(ctx context.Context) {
			select {
			case <-back:
			case <-ctx.Done():
			}
		}}
		c := w.start(t)
		c.Add(job(capture.Complete, "first", 110))
		time.Sleep(time.Second)
		next := job(capture.Complete, "second", 110)
		next.Key = "second"
		c.Add(next)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(w.stored) > 0 {
			t.Errorf("stored before the alert was accepted: %v", w.stored)
		}
		w.missing = func(watch.Segment) bool { return true } // they leave the playlist
		close(back)
		c.Stop(time.Minute)
		if len(w.stored) != 10 || w.log.Len() > 0 {
			t.Errorf("stored %v, log %s", w.stored, w.log.String())
		}
	})
}

func TestEvidenceThatCannotBeStoredLeavesANote(t *testing.T) {
	for name, c := range map[string]struct {
		away  time.Duration // of the gateway; the blob store is away for ever
		after time.Duration
		want  []string
	}{
		"the blob store is away":            {0, 15 * time.Minute, []string{"id-1 alert alert note: the gateway did not take before, onset, levels, level, clip: the bucket is away"}},
		"the gateway is away for a while":   {20 * time.Minute, 30 * time.Minute, []string{"id-1 alert alert note: the gateway did not take before, onset, levels, level, clip: connection refused"}},
		"the gateway is away until the end": {time.Hour, 30 * time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{}
				w.away(c.away)
				isAway := w.refuse
				w.refuse = func(u evidence.Upload) error {
					if err := isAway(u); err != nil || u.File == nil {
						return err
					}
					return errors.New("the bucket is away")
				}
				collecting := w.start(t)
				collecting.Add(job(capture.Complete, "alert", 110))
				time.Sleep(c.after)
				w.expect(t, c.want...)
				collecting.Stop(0)
				if n := strings.Count(w.log.String(), "Evidence could not be stored"); n != 1 {
					t.Errorf("logged %d times: %s", n, w.log.String())
				}
			})
		})
	}
}

func TestACaptureWhoseJobsWereDroppedLeavesNothingButANote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		w := &world{}
		c := w.start(t)
		c.Add(job(capture.Report, "first", 110))
		synctest.Wait()
		w.pictureHook = func() { <-blocked } // nothing runs now
		running := job(capture.Complete, "running", 110)
		running.Key = "running"
		c.Add(running)
		synctest.Wait()
		c.Add(job(capture.Complete, "first", 112))
		for i := range 16 {
			next := job(capture.Complete, "next", 110)
			next.Key = fmt.Sprint(i)
			c.Add(next)
		}
		close(blocked)
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.files != 0 {
			t.Errorf("%d temporary files are left", w.files)
		}
		if note := "id-1 first alert note: too many captures waited"; !slices.Contains(w.stored, note) {
			t.Errorf("stored %s", strings.Join(w.stored, "\n"))
		}
		c.Stop(0)
	})
}

// Each waiting capture has a clip in a temporary file.
func TestFewCapturesWaitWithTheirFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		w.away(5 * time.Minute)
		c := w.start(t)
		for i := range 20 {
			next := job(capture.Complete, fmt.Sprint("event-", i), 110)
			next.Key = fmt.Sprint(i)
			c.Add(next)
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		w.mu.Lock()
		open := w.files
		w.mu.Unlock()
		if open > 8 {
			t.Errorf("%d temporary files are open", open)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		notes := 0
		for _, line := range w.stored {
			if strings.Contains(line, "note: ") {
				notes++
			}
		}
		if notes != 12 || len(w.stored) != 8*5+12 {
			t.Errorf("%d notes, stored %s", notes, strings.Join(w.stored, "\n"))
		}
		c.Stop(0)
	})
}

func TestSegmentsThatAnalysisFetchedAreNotFetchedAgain(t *testing.T) { // section 16.2
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		c := w.start(t)
		all := segmentsOf("144", 90, 114)
		analyse(t, c, all[0], all[4], all[5], all[6]) // an interval of 8 s; then the onset was searched
		c.Add(job(capture.Collect, "", 104))
		synctest.Wait()
		if got, want := w.fetched, []string{"720/98"}; !slices.Equal(got, want) {
			t.Errorf("before the alert %v were fetched, want %v", got, want)
		}
		c.Add(capture.Job{Key: "black", Step: capture.Discard})
		synctest.Wait()
		w.fetched = nil
		c.Add(job(capture.Report, "alert", 110), job(capture.Complete, "alert", 114))
		c.Stop(time.Minute)
		clip := ""
		for _, s := range all {
			clip += "[" + s.URI + "]"
		}
		if got := string(w.bodies["clip"]); got != clip {
			t.Errorf("the clip is %s, want %s", got, clip)
		}
		for i, s := range all {
			if again := slices.Contains(w.fetched, s.URI); again == (i == 0 || i >= 4 && i <= 6) {
				t.Errorf("%s was fetched: %v", s.URI, again)
			}
		}
	})
}

func TestOneSegmentIsFetchedForThePictureBeforeAnAlert(t *testing.T) { // section 16.2
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		c := w.start(t)
		all := segmentsOf("144", 90, 114)
		analyse(t, c, all[1], all[5])
		j := job(capture.Collect, "", 104)
		j.Extra = watch.Rendition{}
		c.Add(j, capture.Job{Key: "black", Step: capture.Discard})
		c.Stop(time.Minute)
		if want := []string{"144/98"}; !slices.Equal(w.fetched, want) {
			t.Errorf("%v were fetched, want %v", w.fetched, want)
		}
	})
}

func TestAFewSegmentsAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		size int // of each segment
		read int // bytes; analysis need not read all
		want int // segments that are kept, of 40
	}{
		"small ones for a minute": {1000, 1001, 31},
		"large ones":              {300 << 10, 301 << 10, 3},
		"one that is too large":   {2 << 20, 3 << 20, 0},
		"one that was not read":   {1000, 500, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{}
				collecting := w.start(t)
				for _, s := range segmentsOf("144", 40, 120) {
					kept := collecting.Keep(s, io.NopCloser(bytes.NewReader(make([]byte, c.size))))
					_, _ = io.CopyN(io.Discard, kept, int64(c.read))
					_ = kept.Close()
				}
				j := job(capture.Complete, "alert", 114)
				j.Extra, j.Tracks[0].Segments = watch.Rendition{}, segmentsOf("144", 40, 120)
				collecting.Add(j)
				collecting.Stop(time.Minute)
				if got := 40 - len(w.fetched); got != c.want {
					t.Errorf("%d segments are kept, want %d", got, c.want)
				}
			})
		})
	}
}

// announced is a body that announces a size.
type announced struct {
	io.Reader

	size int64
}

func (a announced) Size() int64 { return a.size }

func (announced) Close() error { return nil }

func TestABodyIsCopiedWhateverItAnnounces(t *testing.T) {
	const content = "the bytes of a segment"
	for _, size := range []int64{math.MinInt64, -1, 0, 3, int64(len(content)), 1000, math.MaxInt64} {
		for limit, want := range map[int]string{5: "nothing", len(content): content, 1 << 20: content} {
			copied := "nothing"
			body := collector.CopyBody(announced{iotest.OneByteReader(strings.NewReader(content)), size}, limit, func(b []byte) { copied = string(b) })
			read, err := io.ReadAll(body)
			if err = errors.Join(err, body.Close()); err != nil || string(read) != content {
				t.Errorf("size %d, limit %d: read %q, %v", size, limit, read, err)
			}
			if copied != want {
				t.Errorf("size %d, limit %d: copied %q, want %q", size, limit, copied, want)
			}
			if n := collector.AnnouncedSize(body); n < 0 || n > 1<<20 || size == int64(len(content)) && n != len(content) {
				t.Errorf("size %d: the copy announces %d", size, n)
			}
		}
	}
	if n := collector.AnnouncedSize(strings.NewReader(content)); n != len(content) {
		t.Errorf("a reader of a string announces %d", n)
	}
}

func TestCollectorsOfAProcessShareMemory(t *testing.T) {
	const size = 100 << 10 // of each segment
	for name, c := range map[string]struct {
		collectors, ended int
		want              int // segments that each keeps
	}{
		"one has no more than a mebibyte": {1, 0, 10},
		"a few keep a part each":          {8, 0, 2},
		"many keep none":                  {40, 0, 0},
		"one remains after the others":    {40, 39, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := collector.NewMemory(2 << 20)
				var all []*collector.Collector
				var worlds []*world
				for range c.collectors {
					w := &world{memory: memory}
					worlds, all = append(worlds, w), append(all, w.start(t))
				}
				for _, ending := range all[:c.ended] {
					ending.Stop(0)
				}
				for i, collecting := range all[c.ended:] {
					for _, s := range segmentsOf("144", 60, 120) {
						kept := collecting.Keep(s, io.NopCloser(bytes.NewReader(make([]byte, size))))
						_, _ = io.Copy(io.Discard, kept)
						_ = kept.Close()
					}
					j := job(capture.Complete, "alert", 114)
					j.Extra, j.Tracks[0].Segments = watch.Rendition{}, segmentsOf("144", 60, 120)
					collecting.Add(j)
					defer func() {
						collecting.Stop(time.Minute)
						if got := 30 - len(worlds[c.ended+i].fetched); got != c.want {
							t.Errorf("%d segments are kept, want %d", got, c.want)
						}
					}()
				}
			})
		})
	}
}
