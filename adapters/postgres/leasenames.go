package postgres

import (
	"crypto/rand"
	"database/sql/driver"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
)

// namePrefix begins the names of all leases of one runtime id, so that a later
// gateway finds them.
type namePrefix [8]byte

// newName returns a random name with this prefix.
func (p namePrefix) newName() string {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	copy(id[:], p[:])
	return id.String()
}

// maxUnconfirmed bounds unconfirmedLeases. It is more than the leases asked for
// while a stalled server keeps one open.
const maxUnconfirmed = 100

// unconfirmedLeases are the names of leases whose answers were lost. A stalled
// server may still grant one after later leases were answered. So Lease keeps
// reclaiming their events. It stops once a call succeeds that began after all of
// these leases had expired.
type unconfirmedLeases struct {
	mu     sync.Mutex
	prefix namePrefix
	names  []string
	until  time.Time // when the last of them has expired
}

// setPrefix sets the prefix of all later names.
func (u *unconfirmedLeases) setPrefix(prefix namePrefix) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.prefix, u.names = prefix, nil
}

// beginCall returns the names for one call of Lease.
func (u *unconfirmedLeases) beginCall() *leaseNames {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &leaseNames{prefix: u.prefix, unconfirmed: slices.Clone(u.names)}
}

// add adds names of leases that expire at until, at the latest.
func (u *unconfirmedLeases) add(names []string, until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.names = append(u.names, names...)
	u.names = u.names[max(len(u.names)-maxUnconfirmed, 0):]
	if until.After(u.until) {
		u.until = until
	}
}

// confirm is called when a lease that began at this time was answered.
func (u *unconfirmedLeases) confirm(began time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !began.Before(u.until) {
		u.names = nil
	}
}

// leaseNames are the names that one call of Lease uses. If a connection breaks,
// database/sql sends the statement again and evaluates its arguments again. Each
// sending has therefore a new name, and leases again what the earlier ones got.
type leaseNames struct {
	prefix      namePrefix
	unconfirmed []string
	sent        []string // the last is that of the latest sending
}

// newNameArg is a statement argument: a new name for this sending.
type newNameArg struct{ *leaseNames }

// Value implements driver.Valuer.
func (n newNameArg) Value() (driver.Value, error) {
	name := n.prefix.newName()
	n.sent = append(n.sent, name)
	return name, nil
}

// unconfirmedArg is a statement argument: all names whose leases are unconfirmed.
type unconfirmedArg struct{ *leaseNames }

// Value implements driver.Valuer.
func (u unconfirmedArg) Value() (driver.Value, error) {
	return pq.StringArray(slices.Concat(u.unconfirmed, u.sent)).Value()
}
