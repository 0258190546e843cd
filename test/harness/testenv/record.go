package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // pictures of evidence
	_ "image/png"  // plots of the level
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// CheckRecord checks the incident, the evidence and the history of a main scenario that has been
// played (sections 16.1 to 16.3). It waits for them, and reads every file by a signed link. It
// returns an error if a part is missing at the end of ctx, or differs from the stream.
func (e *Env) CheckRecord(ctx context.Context, t GroundTruth, logf func(format string, args ...any)) error {
	if err := e.checkIncident(ctx, t); err != nil {
		return err
	}
	if err := e.checkHistory(ctx, t); err != nil {
		return err
	}
	luma := map[string]float64{}
	for _, alert := range []struct {
		event    string
		variants []string
	}{
		{"alert.blackout", []string{"before", "onset", "clip"}},
		{"alert.blackout_recovered", []string{"recovery"}},
		{"alert.silence", []string{"level", "levels", "clip"}},
	} {
		event, err := e.WaitEvent(ctx, t.MonitorID, alert.event)
		if err != nil {
			return err
		}
		for _, variant := range alert.variants {
			if luma[variant], err = e.CheckEvidence(ctx, event.EventID, variant); err != nil {
				return fmt.Errorf("evidence of %s: %w", alert.event, err)
			}
		}
	}
	found := fmt.Sprintf("luma before %.0f, at the onset %.0f, at the recovery %.0f", luma["before"], luma["onset"], luma["recovery"])
	logf("%s", found)
	if luma["before"] < 60 || luma["onset"] > 20 || luma["recovery"] < 60 {
		return errors.New(found + "; want a bright, a black and a bright picture")
	}
	return nil
}

// checkIncident waits for one resolved incident with all conditions of the scenario.
func (e *Env) checkIncident(ctx context.Context, t GroundTruth) error {
	var last string
	err := poll(ctx, func() bool {
		answer, err := e.Service.Call(ctx, http.MethodGet, "/api/v1/incidents?monitor_id="+t.MonitorID, nil)
		if err != nil {
			last = err.Error()
			return false
		}
		incidents, _ := answer.Body["incidents"].([]any)
		last = ""
		for _, each := range incidents {
			i, _ := each.(map[string]any)
			conditions, _ := i["conditions"].([]any)
			last += fmt.Sprint(i["state"])
			for _, c := range conditions {
				condition, _ := c.(map[string]any)
				last += fmt.Sprint(" ", condition["name"], " ended ", condition["ended_at"] != nil)
			}
			last += ";"
		}
		return last == "resolved late ended true black ended true silent ended true;"
	})
	if err != nil {
		return fmt.Errorf("want one resolved incident of late, black and silent, there are: %s: %w", last, err)
	}
	return nil
}

// checkHistory waits until the timeline and the totals show the black and the silent part.
func (e *Env) checkHistory(ctx context.Context, t GroundTruth) error {
	blackout, err := e.WaitEvent(ctx, t.MonitorID, "alert.blackout")
	if err != nil {
		return err
	}
	silence, err := e.WaitEvent(ctx, t.MonitorID, "alert.silence")
	if err != nil {
		return err
	}
	var last string
	err = poll(ctx, func() bool {
		black, err := e.bucket(ctx, t.MonitorID, t.BlackUntil.Add(-time.Second))
		silent, silentErr := e.bucket(ctx, t.MonitorID, t.SilentUntil.Add(-time.Second))
		totals, totalsErr := e.Service.Call(ctx, http.MethodGet, "/api/v1/statistics?by=hour&monitor_id="+t.MonitorID, nil)
		total, _ := totals.Body["total"].(map[string]any)
		seconds, _ := total["seconds"].(map[string]any)
		if ctx.Err() != nil {
			return false // the answers are cut off: say what was known before
		}
		last = fmt.Sprintf("black %+v, silent %+v, totals %v, %v", black, silent, total, errors.Join(err, silentErr, totalsErr))
		return black.Video.State == "black" && black.Audio.State == "ok" && black.Luma.Min <= 5 && black.Luma.Max >= 60 &&
			silent.Video.State == "ok" && silent.Audio.State == "silent" && silent.Level.Min <= -60 && silent.Level.Max >= -20 &&
			isAbout(seconds["black"], t.BlackFrom, blackout.Received, t.BlackUntil) &&
			isAbout(seconds["silent"], t.SilentFrom, silence.Received, t.SilentUntil) && seconds["out"] == 0.0
	})
	if err != nil {
		return fmt.Errorf("the history shows not what happened: %s: %w", last, err)
	}
	return nil
}

// isAbout reports whether a number of seconds is that of a part of the scenario. A state changes by
// the next report. On a busy machine one may call the beginning good, so only the time since the
// alert is certain, and the recovery is seen late.
func isAbout(seconds any, from, alerted, until time.Time) bool {
	n, _ := seconds.(float64)
	certain := until.Sub(alerted) - 2*time.Second
	return n > 0 && n >= certain.Seconds() && n < (until.Sub(from)+time.Minute).Seconds()
}

// bucket is a second of the timeline.
type bucket struct {
	Video, Audio struct{ State string }
	Luma, Level  struct{ Min, Max float64 } // of its minute
}

func (e *Env) bucket(ctx context.Context, monitorID string, at time.Time) (bucket, error) {
	query := url.Values{"from": {at.Format(time.RFC3339Nano)}, "to": {at.Add(time.Second).Format(time.RFC3339Nano)}, "buckets": {"1"}}
	a, err := e.Service.Call(ctx, http.MethodGet, "/api/v1/monitors/"+monitorID+"/timeline?"+query.Encode(), nil)
	if err != nil {
		return bucket{}, err
	}
	raw, err := json.Marshal(a.Body)
	if err != nil {
		return bucket{}, err
	}
	var timeline struct{ Buckets []bucket }
	if err := json.Unmarshal(raw, &timeline); err != nil || len(timeline.Buckets) != 1 {
		return bucket{}, errors.Join(fmt.Errorf("the timeline is %s", raw), err)
	}
	return timeline.Buckets[0], nil
}

// CheckEvidence waits for a file of an event's evidence and reads it by a signed link. luma is the mean
// luma of a picture, 0 to 255. Error: the file is missing at the end of ctx, or is not what its variant says.
func (e *Env) CheckEvidence(ctx context.Context, eventID, variant string) (luma float64, err error) {
	id, err := e.waitEvidence(ctx, eventID, []string{variant})
	if err != nil {
		return 0, err
	}
	content, err := e.downloadEvidence(ctx, id, variant)
	if err == nil {
		luma, err = readEvidence(variant, content)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", variant, err)
	}
	return luma, nil
}

// waitEvidence waits until the record of an event has these variants.
func (e *Env) waitEvidence(ctx context.Context, eventID string, variants []string) (id string, err error) {
	var last any
	err = poll(ctx, func() bool {
		answer, err := e.Service.Call(ctx, http.MethodGet, "/api/v1/evidence?event_id="+eventID, nil)
		records, _ := answer.Body["evidence"].([]any)
		if last = answer.Body; err != nil || len(records) != 1 {
			return false
		}
		record, _ := records[0].(map[string]any)
		files, _ := record["variants"].([]any)
		id, _ = record["evidence_id"].(string)
		return !slices.ContainsFunc(variants, func(v string) bool {
			return !slices.ContainsFunc(files, func(f any) bool { return f.(map[string]any)["variant"] == v })
		})
	})
	if err != nil {
		return "", fmt.Errorf("the evidence of event %s has not all of %v: %v: %w", eventID, variants, last, err)
	}
	return id, nil
}

// downloadEvidence reads a file by a signed link, without the API key.
func (e *Env) downloadEvidence(ctx context.Context, id, variant string) ([]byte, error) {
	link, err := e.Service.Call(ctx, http.MethodPost, "/api/v1/evidence/"+id+"/link", map[string]any{"variant": variant})
	if err != nil {
		return nil, err
	}
	address, _ := link.Body["url"].(string)
	if strings.HasPrefix(address, "/") {
		address = e.Service.URL() + address
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := e.Service.Client().Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return content, err
}

// readEvidence decodes a picture and returns its mean luma, 0 to 255. It recognises an
// MP4 file with picture and sound, by the handlers of its tracks.
func readEvidence(variant string, content []byte) (luma float64, err error) {
	switch variant {
	case "levels":
		return 0, nil
	case "clip":
		if len(content) < 12 || string(content[4:8]) != "ftyp" || !bytes.Contains(content, []byte("vide")) || !bytes.Contains(content, []byte("soun")) {
			err = fmt.Errorf("%d bytes that are no MP4 file with picture and sound", len(content))
		}
		return 0, err
	}
	img, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			luma += (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)) / 257
		}
	}
	return luma / float64(img.Bounds().Dx()*img.Bounds().Dy()), nil
}

// poll calls f each half second until it is true. Error: that of ctx.
func poll(ctx context.Context, f func() bool) error {
	for !f() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
	return nil
}
