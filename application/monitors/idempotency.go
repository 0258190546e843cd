package monitors

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// IdempotencyRetention limits how long a registration may be repeated (decision A9).
const IdempotencyRetention = 24 * time.Hour

// ErrKeyReused refuses a registration because an earlier one had the same idempotency key
// and a different request.
var ErrKeyReused = errors.New("this key came with another request")

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// IdempotencyKey identifies a registration that the caller may repeat.
type IdempotencyKey struct {
	Key     Digest // of the API key and the caller's Idempotency-Key
	Request Digest // of the normalised request
}

// IdempotencyRecord is the answer to the first registration with a key.
type IdempotencyRecord struct {
	Request Digest
	Monitor monitor.Monitor // with its Status at that time
}

// requestDigest returns the digest of a normalised registration. Defaults are filled in,
// URLs are canonical and times are in UTC, so equivalent requests have the same digest.
// Metadata counts byte for byte.
func requestDigest(m monitor.Monitor) (Digest, error) {
	for _, t := range []**time.Time{&m.Config.ScheduledStartTime, &m.Config.ScheduledEndTime} {
		if *t != nil {
			*t = new((*t).UTC())
		}
	}
	config, err := json.Marshal(m.Config)
	if err != nil {
		return Digest{}, fmt.Errorf("digest a registration: %w", err)
	}
	secret, err := json.Marshal(m.StreamSecret)
	if err != nil {
		return Digest{}, fmt.Errorf("digest a registration: %w", err)
	}
	labels, err := json.Marshal(m.Labels)
	if err != nil {
		return Digest{}, fmt.Errorf("digest a registration: %w", err)
	}
	h := sha256.New()
	for _, part := range []string{string(m.StreamURL), string(secret), string(m.CallbackURL), string(config), string(m.Metadata), string(labels), m.Owner} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return Digest(h.Sum(nil)), nil
}
