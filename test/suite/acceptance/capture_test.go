package acceptance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/levelplot"
)

// evidenceLimit is how long after an event its evidence is complete: 30 s of media,
// their capture and the upload.
const evidenceLimit = 75 * time.Second

// evidenceFiles are the files of one record, by variant.
type evidenceFiles struct {
	record   map[string]any
	variants map[string]map[string]any
	content  map[string][]byte
}

// waitEvidence waits until the evidence of an event has these variants, and downloads
// them by signed links.
func (p *watchedStream) waitEvidence(eventID string, variants ...string) evidenceFiles {
	p.t.Helper()
	f := evidenceFiles{content: map[string][]byte{}}
	eventually(p.t, evidenceLimit, fmt.Sprintf("the evidence of event %s has %v", eventID, variants), func() bool {
		answer, err := p.env.Service.Call(p.t.Context(), "GET", "/api/v1/evidence?event_id="+eventID, nil)
		if err != nil || answer.Status != http.StatusOK {
			return false
		}
		records := answer.Body["evidence"].([]any)
		if len(records) == 0 {
			return false
		}
		f.record, f.variants = records[0].(map[string]any), map[string]map[string]any{}
		for _, v := range f.record["variants"].([]any) {
			file := v.(map[string]any)
			f.variants[file["variant"].(string)] = file
		}
		return !slices.ContainsFunc(variants, func(v string) bool { return f.variants[v] == nil })
	})
	for _, v := range variants {
		f.content[v] = p.downloadEvidence(f.record["evidence_id"].(string), v)
	}
	f.keep(p.t)
	return f
}

// keep writes the files into a folder for a look at them, if KEEP_EVIDENCE names one.
func (f evidenceFiles) keep(t *testing.T) {
	t.Helper()
	dir := os.Getenv("KEEP_EVIDENCE")
	if dir == "" {
		return
	}
	extensions := map[string]string{"image/jpeg": ".jpg", "image/png": ".png", "application/json": ".json", "video/mp4": ".mp4"}
	for variant, content := range f.content {
		name := fmt.Sprintf("%s-%s-%s-%s%s", t.Name(), f.record["condition"], f.record["phase"], variant, extensions[f.variants[variant]["media_type"].(string)])
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *watchedStream) downloadEvidence(id, variant string) []byte {
	p.t.Helper()
	link, err := p.env.Service.Call(p.t.Context(), "POST", "/api/v1/evidence/"+id+"/link", map[string]any{"variant": variant})
	if err != nil || link.Status != http.StatusOK {
		p.t.Fatalf("link to %s: %v %v", variant, link, err)
	}
	address := link.Body["url"].(string)
	if strings.HasPrefix(address, "/") {
		address = p.env.Service.URL() + address
	}
	response, err := p.env.Service.Client().Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("download %s: %d %v", variant, response.StatusCode, err)
	}
	return content
}

// luma decodes a picture of evidence and returns its mean brightness, 0 to 255. The
// picture has one of these widths.
func (f evidenceFiles) luma(t *testing.T, variant string, widths ...int) float64 {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(f.content[variant]))
	if err != nil {
		t.Fatalf("%s: %v", variant, err)
	}
	if !slices.Contains(widths, img.Bounds().Dx()) {
		t.Errorf("%s is %v, want one of %d columns", variant, img.Bounds(), widths)
	}
	sum, n := 0.0, 0.0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			sum, n = sum+(0.299*float64(r)+0.587*float64(g)+0.114*float64(b))/257, n+1
		}
	}
	if stated, _ := f.variants[variant]["measure"].(float64); stated < sum/n-3 || stated > sum/n+3 {
		t.Errorf("%s has luma %.0f, its measure is %v", variant, sum/n, stated)
	}
	return sum / n
}

// levels are the numbers of a level plot.
type levels struct {
	From, To, Instant time.Time
	Levels            []struct {
		At   time.Time
		DBFS float64
	}
}

// assertLevels asserts that the sound was off from one time to another, and only then,
// by the numbers and by the pixels of the plot. due is when the alert was due.
func (f evidenceFiles) assertLevels(t *testing.T, off, due, on time.Time) {
	t.Helper()
	var body levels
	if err := json.Unmarshal(f.content["levels"], &body); err != nil {
		t.Fatal(err)
	}
	silent, loud, lastMinute := 0, 0, 0
	for _, l := range body.Levels {
		if l.At.After(due.Add(-time.Minute)) && l.At.Before(due) {
			lastMinute++
		}
		switch from, to := l.At, l.At.Add(time.Second); {
		case from.After(off.Add(exactTolerance)) && to.Before(on.Add(-exactTolerance)):
			silent++
			if l.DBFS > -50 {
				t.Errorf("%s after the sound was switched off: %v dBFS", from.Sub(off), l.DBFS)
			}
		case to.Before(off.Add(-exactTolerance)) || from.After(on.Add(exactTolerance)):
			loud++
			if l.DBFS < -50 {
				t.Errorf("%s before the sound was switched off, %s after it came back: %v dBFS", off.Sub(from), from.Sub(on), l.DBFS)
			}
		}
	}
	if silent < 3 || loud < 5 {
		t.Errorf("%d silent and %d loud levels: %s", silent, loud, f.content["levels"])
	}
	// Only the newest segment of a check was measured when the media had been forgotten.
	if early := due.Sub(body.From); early < 58*time.Second || lastMinute < 40 {
		t.Errorf("the levels begin %s before the alert was due, and tell %d s of the minute before", early, lastMinute)
	}
	f.assertPlot(t, body, off, on)
}

// assertPlot asserts that the bars of the plot are high, then low from one time to
// another, and high again.
func (f evidenceFiles) assertPlot(t *testing.T, body levels, off, on time.Time) {
	t.Helper()
	const edge = 1500 * time.Millisecond // a level is that of a second
	columns, err := levelplot.Read(f.content["level"], body.From, body.To)
	if err != nil {
		t.Fatal(err)
	}
	high, low := 0, 0
	for _, c := range columns {
		switch {
		case !c.Known:
		case c.At.Before(off.Add(-edge)) || c.At.After(on.Add(edge)):
			if high++; c.DBFS < -50 || c.Red {
				t.Errorf("%s from where the sound was switched off, the plot shows %.0f dBFS", c.At.Sub(off), c.DBFS)
			}
		case c.At.After(off.Add(edge)) && c.At.Before(on.Add(-edge)):
			if low++; c.DBFS > -50 || !c.Red {
				t.Errorf("%s from where the sound was switched off, the plot shows %.0f dBFS", c.At.Sub(off), c.DBFS)
			}
		}
	}
	if second := len(columns) / max(1, int(body.To.Sub(body.From).Seconds())); high < 30*second || low < 2*second {
		t.Errorf("the plot shows %d columns of sound and %d of silence, %d a second", high, low, second)
	}
}

// assertClip asserts that ffprobe reads a clip of at least so many seconds with both
// tracks.
func (f evidenceFiles) assertClip(t *testing.T, seconds float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	if err := os.WriteFile(path, f.content["clip"], 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=codec_name,nb_read_packets:format=duration", "-of", "json", path).CombinedOutput()
	if err != nil {
		t.Fatalf("ffprobe: %v: %s", err, out)
	}
	var probed struct {
		Streams []struct {
			Codec   string `json:"codec_name"`
			Packets string `json:"nb_read_packets"`
		} `json:"streams"`
		Format struct {
			Duration string `json:"duration"`
		} `json:"format"`
	}
	if err := json.Unmarshal(out, &probed); err != nil {
		t.Fatal(err)
	}
	var duration float64
	_, _ = fmt.Sscan(probed.Format.Duration, &duration)
	if len(probed.Streams) != 2 || probed.Streams[0].Codec != "h264" || probed.Streams[1].Codec != "aac" || duration < seconds {
		t.Errorf("want %v s of H.264 and AAC: %s", seconds, out)
	}
}

func TestEvidenceShowsABlackoutAndASilence(t *testing.T) { // section 16.2
	runTimeline(t, 1, 140*time.Second)
	p := watchStream(t, startEnv(t), livestream.Config{Preroll: 30 * time.Second}, nil)
	watched := time.Now()
	p.goBlack()
	alert := p.waitEvent(blackoutAlert, 60*time.Second)
	picture := p.Black(false)
	recovered := p.waitEvent(blackoutRecovered, 60*time.Second)
	if late := alert.Received.Sub(p.Available(p.black).Add(6*time.Second + 2*p.SegmentDuration())); late > 3*time.Second+busyMachine {
		t.Errorf("the alert came %s late", late)
	}

	f := p.waitEvidence(alert.EventID, "before", "onset", "level", "levels", "clip")
	// Of the larger rendition one segment is fetched: that of the picture before.
	before, onset := f.luma(t, "before", 640), f.luma(t, "onset", 640, 256)
	if before < 60 || onset > 20 {
		t.Errorf("luma before the blackout is %.0f, at its onset %.0f", before, onset)
	}
	f.assertClip(t, 20)
	if f.record["phase"] != "alert" || f.record["condition"] != "black" || f.record["class"] != "normal" {
		t.Errorf("the record is %v", f.record)
	}
	g := p.waitEvidence(recovered.EventID, "recovery")
	if after := g.luma(t, "recovery", 640, 256); after < 60 { // the smaller one when the larger comes too late
		t.Errorf("luma after the recovery is %.0f", after)
	}
	t.Logf("luma before %.0f, onset %.0f; clip of %d bytes; picture back after %s", before, onset, len(f.content["clip"]), picture.Sub(p.black))

	// The media of this minute are not all remembered, the sound levels of the checks are.
	eventually(t, 70*time.Second, "a minute has been watched", func() bool { return time.Since(watched) > time.Minute })
	off := p.Silence(true)
	alert = p.waitEvent("alert.silence", 60*time.Second)
	due := off.Add(time.Duration(alert.Data.ThresholdSec) * time.Second)
	on := p.Silence(false)
	p.waitEvent("alert.silence_recovered", 60*time.Second)
	f = p.waitEvidence(alert.EventID, "before", "onset", "level", "levels", "clip")
	f.assertLevels(t, off, due, on)
	f.assertClip(t, 20)
}

func TestEvidenceOfSeparatePictureAndSoundHasBoth(t *testing.T) { // section 16.2
	runTimeline(t, 1, 80*time.Second)
	c := demuxed
	c.Preroll = 30 * time.Second
	p := watchStream(t, startEnv(t), c, nil)
	p.goBlack()
	alert := p.waitEvent(blackoutAlert, 60*time.Second)
	p.Black(false)
	f := p.waitEvidence(alert.EventID, "before", "onset", "level", "levels", "clip")
	if before, onset := f.luma(t, "before", 256), f.luma(t, "onset", 256); before < 60 || onset > 20 {
		t.Errorf("luma before the blackout is %.0f, at its onset %.0f", before, onset)
	}
	f.assertClip(t, 20)
}

func TestEvidenceShowsTheRecoveryFromAnOutage(t *testing.T) { // section 16.2
	runOutageTimeline(t, 1, 130*time.Second)
	p := watchStream(t, startEnv(t), livestream.Config{Preroll: 30 * time.Second}, nil)
	p.Freeze(true)
	alert := p.waitEvent(outageAlert, outageThreshold+45*time.Second)
	f := p.waitEvidence(alert.EventID, "before", "level", "levels", "clip")
	if before := f.luma(t, "before", 640, 256); before < 60 || f.record["phase"] != "alert" {
		t.Errorf("luma before the outage is %.0f in %v", before, f.record)
	}
	p.Freeze(false)
	g := p.waitEvidence(alert.EventID, "recovery") // the newest record of that event
	if after := g.luma(t, "recovery", 640, 256); after < 60 || g.record["phase"] != "recovery" || g.record["condition"] != "no_media" {
		t.Errorf("luma after the outage is %.0f in %v", after, g.record)
	}
	if f.record["incident_id"] == nil || g.record["incident_id"] != f.record["incident_id"] {
		t.Errorf("the incidents are %v and %v", f.record["incident_id"], g.record["incident_id"])
	}
}
