package registry

import (
	"context"
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

// RegisterIdempotent registers a monitor for a caller that may repeat the request
// because it got no answer (decision A9). A repeat with the same key within
// IdempotencyRetention registers nothing and returns the first answer, even if that
// monitor has ended; replayed is then true. Refusals are not recorded.
// Errors: those of Register; ErrKeyReused if the key came with another request.
func (reg *Registrar) RegisterIdempotent(ctx context.Context, r Request, key Digest) (m monitor.Monitor, replayed bool, err error) {
	m, err = reg.newMonitor(ctx, r)
	if err != nil {
		return monitor.Monitor{}, false, err
	}
	request, err := requestDigest(m)
	if err != nil {
		return monitor.Monitor{}, false, err
	}
	// A repeat gets its first answer even if a new registration would now be
	// refused, for example because the DNS does not resolve the callback's host.
	first, err := reg.store.FindIdempotent(ctx, key)
	if err != nil {
		return monitor.Monitor{}, false, fmt.Errorf("look for an earlier registration with this key: %w", err)
	}
	if first == nil {
		first, err = reg.insert(ctx, m, func(ctx context.Context) (*IdempotencyRecord, error) {
			return reg.store.InsertIdempotent(ctx, m, reg.maxMonitors, IdempotencyKey{Key: key, Request: request})
		})
	}
	switch {
	case err != nil:
		return monitor.Monitor{}, false, err
	case first == nil:
		return m, false, nil
	case first.Request != request:
		return monitor.Monitor{}, false, ErrKeyReused
	}
	reg.log.Info("registration repeated", "monitor_id", string(first.Monitor.ID))
	return first.Monitor, true, nil
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
	h := sha256.New()
	for _, part := range []string{string(m.StreamURL), string(m.CallbackURL), string(config), string(m.Metadata)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return Digest(h.Sum(nil)), nil
}
