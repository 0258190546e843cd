package evidence_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// oneBlob is an evidences.BlobStore of one blob.
type oneBlob struct {
	evidences.BlobStore

	content []byte
}

func (b oneBlob) Open(_ context.Context, d evidence.Digest, _ int64) (io.ReadCloser, error) {
	if d != sha256.Sum256(b.content) {
		return nil, evidences.ErrNoBlob
	}
	return io.NopCloser(bytes.NewReader(b.content)), nil
}

func TestAMessageShowsThePictureOfItsIncident(t *testing.T) { // section 19.3
	const id = evidence.ID("0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c11")
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	jpeg := []byte("bytes of a picture")
	digest := evidence.Digest(sha256.Sum256(jpeg))
	file := evidence.File{Variant: evidence.Onset, Digest: digest, Size: int64(len(jpeg)), TakenAt: now}
	store := &recordStore{records: []evidence.Record{{ID: id, Condition: "black", Phase: evidence.AlertPhase, Files: []evidence.File{file}}}}
	onset := incident.Picture{EvidenceID: string(id), Variant: "onset"}
	for name, c := range map[string]struct {
		publicURL string
		picture   incident.Picture
		most      int64
		bytes     []byte
		url       string
		code      monitor.Code
	}{
		"with its bytes":           {"https://monitor.example/", onset, 100, jpeg, "https://monitor.example/evidence/" + string(id) + "/onset?", ""},
		"with a link only":         {"https://monitor.example/", onset, 17, nil, "https://monitor.example/evidence/", ""},
		"without a public URL":     {"", onset, 18, jpeg, "", ""},
		"with another file":        {"", incident.Picture{EvidenceID: string(id), Variant: "level"}, 100, nil, "", evidence.NotFound},
		"whose record was deleted": {"", incident.Picture{EvidenceID: "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c12", Variant: "onset"}, 100, nil, "", evidence.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			service, err := evidences.NewService(store, oneBlob{content: jpeg}, evidences.Config{
				Keys: evidence.LinkKeys{"a key of sixteen"}, PublicURL: c.publicURL, Now: func() time.Time { return now },
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := service.MessagePicture(t.Context(), c.picture, c.most)
			var refused *monitor.Error
			if c.code != "" {
				if !errors.As(err, &refused) || refused.Code != c.code {
					t.Errorf("the error is %v, want %s", err, c.code)
				}
				return
			}
			if err != nil || !bytes.Equal(got.Bytes, c.bytes) || got.MediaType != "image/jpeg" || !strings.HasPrefix(got.URL, c.url) || (got.URL == "") != (c.url == "") {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
