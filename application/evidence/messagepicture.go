package evidence

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// PictureLinkTTL bounds the validity of the link to the picture in a message: channels and
// the programs of readers fetch it again.
const PictureLinkTTL = 24 * time.Hour

// MessagePicture is a picture as a message shows it.
type MessagePicture struct {
	URL       string // signed; empty without PUBLIC_URL
	MediaType string
	Bytes     []byte // nil: there are more than the caller takes

	RenditionHeight int // see evidence.File
}

// MessagePicture reads the picture of an incident, with its bytes if they are at most most.
// It blocks until they are read. Errors: *monitor.Error evidence.NotFound; ErrBusy.
func (s *Service) MessagePicture(ctx context.Context, p incident.Picture, most int64) (MessagePicture, error) {
	id, variant := evidence.ID(p.EvidenceID), evidence.Variant(p.Variant)
	link, err := s.Link(ctx, id, variant, PictureLinkTTL)
	if err != nil {
		return MessagePicture{}, err
	}
	d, err := s.Open(ctx, link)
	if err != nil {
		return MessagePicture{}, err
	}
	defer func() { _ = d.Close() }() // everything was read, or the error is returned
	shown := MessagePicture{MediaType: variant.MediaType(), RenditionHeight: d.File.RenditionHeight}
	if s.cfg.PublicURL != "" {
		shown.URL = link.URL(s.cfg.PublicURL)
	}
	if d.File.Size > most {
		return shown, nil
	}
	if shown.Bytes, err = io.ReadAll(io.LimitReader(d, most)); err != nil {
		return MessagePicture{}, fmt.Errorf("read %s of evidence %s: %w", variant, id, err)
	}
	return shown, nil
}
