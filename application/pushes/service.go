package pushes

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// expiredMessages is how many messages one run of Expire deletes.
const expiredMessages = 500

// Service receives messages. It may be used concurrently.
type Service struct {
	store  Store
	secret eventsub.Secret
	now    func() time.Time
	log    *slog.Logger
}

// NewService returns a Service. secret checks webhooks; empty: none is expected, and each is refused.
func NewService(store Store, secret eventsub.Secret, now func() time.Time, log *slog.Logger) *Service {
	return &Service{store, secret, now, log.With("component", "pushes")}
}

// Receive takes a webhook. reply is what Twitch wants to be answered; empty: nothing. Errors: those of Secret.Read; the store fails.
func (s *Service) Receive(ctx context.Context, h eventsub.Header, body []byte) (reply string, err error) {
	m, err := s.secret.Read(h, body, s.now())
	if err != nil {
		return "", err
	}
	if m.Kind == eventsub.Verification {
		reply = m.Challenge
	}
	return reply, s.accept(ctx, m)
}

// accept stores a message and what follows.
func (s *Service) accept(ctx context.Context, m eventsub.Message) error {
	first, err := s.store.AcceptMessage(ctx, m, s.now())
	switch {
	case err != nil:
		return fmt.Errorf("store a message of Twitch: %w", err)
	case first && m.Kind == eventsub.Revocation:
		s.log.Warn("Twitch has revoked a subscription, it is made again; until then this start is found without a push", "status", m.Status, "type", string(m.Type), "user_id", m.UserID)
	}
	return nil
}

// Expire deletes the messages that have been kept for long enough. The elected gateway runs it.
func (s *Service) Expire(ctx context.Context) error {
	if err := s.store.ExpireMessages(ctx, eventsub.Kept, expiredMessages); err != nil {
		return fmt.Errorf("delete old messages of Twitch: %w", err)
	}
	return nil
}
