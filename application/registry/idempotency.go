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

// RepeatWithin is how long a create may be repeated (decision A9).
const IdempotencyRetention = 24 * time.Hour

// ErrKeyReused answers a create whose idempotency key stands for another one.
var ErrKeyReused = errors.New("this key came with another request")

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// Once says under which key a create is remembered, and what it asked for.
type IdempotencyKey struct {
	Key     Digest // of the API key and the key that the caller gave
	Request Digest // two requests of one digest ask for the same
}

// First is the first answer to a create that was made under a key.
type IdempotencyRecord struct {
	Request Digest
	Monitor monitor.Monitor // its Status as it was then
}

// RegisterIdempotent is Register for a caller that may ask again because no answer
// reached it (decision A9): a repeat under the same key, for RepeatWithin,
// registers nothing and returns the first answer, whatever has become of that
// monitor. Only what was registered is remembered. Errors: those of Register;
// ErrKeyReused when the key stands for something else.
func (s *Service) RegisterIdempotent(ctx context.Context, r Request, key Digest) (m monitor.Monitor, replayed bool, err error) {
	m, err = s.draft(ctx, r)
	if err != nil {
		return monitor.Monitor{}, false, err
	}
	request, err := ask(m)
	if err != nil {
		return monitor.Monitor{}, false, err
	}
	once := IdempotencyKey{Key: key, Request: request}
	// A repeat gets its answer even where a new registration would now be
	// refused, because its callback's host cannot be found for a moment.
	first, err := s.store.FindIdempotent(ctx, key)
	if err != nil {
		return monitor.Monitor{}, false, fmt.Errorf("recall an earlier registration: %w", err)
	}
	if first == nil {
		first, err = s.keep(ctx, m, func(ctx context.Context) (*IdempotencyRecord, error) {
			return s.store.InsertIdempotent(ctx, m, s.cfg.MaxMonitors, once)
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
	s.log.Info("registration repeated", "monitor_id", string(first.Monitor.ID))
	return first.Monitor, true, nil
}

// ask is the digest of what a registration asks for, however it was spelled:
// defaults and canonical forms are filled in, and only metadata, which is kept
// byte for byte, is taken as it stands.
func ask(m monitor.Monitor) (Digest, error) {
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
