package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"github.com/google/uuid"
)

// holder is what the names of all leases of one place begin with.
type holder [8]byte

// name makes the name of a lease.
func (h holder) name() string {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	copy(id[:], h[:])
	return id.String()
}

// Succeed takes the place of a gateway that has ended, and makes what it was
// sending due at once: nobody sends that any more, and its leases would hold it
// back until they run out. Whoever calls it knows that nobody else is at the
// place, and leases nothing before it has returned. It may be repeated.
func (s *Store) Succeed(ctx context.Context, place string) error {
	sum := sha256.Sum256([]byte(place))
	h := holder(sum[:len(holder{})])
	first, last := uuid.UUID{}, uuid.Max
	copy(first[:], h[:])
	copy(last[:], h[:])
	s.unsure.belong(h)
	_, err := s.db.ExecContext(ctx, `
		UPDATE monitor_events SET leased_until = NULL, lease = NULL
		WHERE webhook_status = 'pending' AND lease BETWEEN $1 AND $2`, first, last)
	return explain(ctx, "take over what was being sent", err)
}
