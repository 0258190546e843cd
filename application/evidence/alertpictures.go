package evidence

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// AlertPictures reads the pictures that are stored of the alert of an event: before, onset and level of its newest record
// that has one. It blocks until they are read. Errors: ErrBusy.
func (s *Service) AlertPictures(ctx context.Context, id monitor.ID, eventID string) ([]evidence.Picture, error) {
	records, err := s.ListEvidence(ctx, Filter{MonitorID: id, EventID: eventID, Limit: DefaultPage})
	if err != nil {
		return nil, err
	}
	shown := []evidence.Variant{evidence.Before, evidence.Onset, evidence.Level}
	for _, r := range records {
		if r.Phase != evidence.AlertPhase || !slices.ContainsFunc(r.Files, func(f evidence.File) bool { return slices.Contains(shown, f.Variant) }) {
			continue
		}
		var all []evidence.Picture
		for _, f := range r.Files {
			if !slices.Contains(shown, f.Variant) {
				continue
			}
			p, err := s.alertPicture(ctx, f)
			if err != nil {
				return all, fmt.Errorf("read %s of evidence %s: %w", f.Variant, r.ID, err)
			}
			all = append(all, p)
		}
		return all, nil
	}
	return nil, nil
}

func (s *Service) alertPicture(ctx context.Context, f evidence.File) (evidence.Picture, error) {
	release, err := s.take(ctx, s.downloads)
	if err != nil {
		return evidence.Picture{}, err
	}
	defer release()
	opened, err := s.blobs.Open(ctx, f.Digest, 0)
	if err != nil {
		return evidence.Picture{}, err
	}
	defer func() { _ = opened.Close() }() // everything was read, or the error is returned
	p := evidence.Picture{File: f}
	p.Bytes, err = io.ReadAll(io.LimitReader(opened, f.Size))
	return p, err
}
