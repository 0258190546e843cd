package postgres

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql/driver"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
)

// leaseIDPrefix begins all lease IDs of one runtime ID. By it a restarted gateway finds
// the leases that it had before.
type leaseIDPrefix [8]byte

// newID returns a random lease ID with this prefix. The column lease stores it.
func (p leaseIDPrefix) newID() string {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	copy(id[:], p[:])
	return id.String()
}

// maxUnconfirmed is the maximum of IDs in unconfirmedLeases; the oldest are dropped.
// While a stalled server keeps one lease open, Lease asks for fewer leases than this.
const maxUnconfirmed = 100

// unconfirmedLeases holds the IDs of leases whose answers were lost. A stalled server
// may still grant such a lease, even after it has answered a later call. So every call
// of Lease takes the events of all of them. The IDs are forgotten when a call succeeds
// that began after the last of these leases had expired.
type unconfirmedLeases struct {
	mu       sync.Mutex
	prefix   leaseIDPrefix
	ids      []string
	expireBy time.Time // by then all of them have expired
}

// takeOver sets the prefix of all later IDs to that of a runtime ID. It returns the first and
// the last ID with this prefix.
func (u *unconfirmedLeases) takeOver(runtimeID string) (first, last uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := sha256.Sum256([]byte(runtimeID))
	u.prefix, u.ids = leaseIDPrefix(sum[:len(leaseIDPrefix{})]), nil
	last = uuid.Max
	copy(first[:], u.prefix[:])
	copy(last[:], u.prefix[:])
	return first, last
}

// lease calls a query that leases rows for the given duration. The query gets two arguments
// of its statement: the ID of the lease, and the IDs of the unconfirmed leases, whose rows
// it takes, too. lease returns the ID under which the rows were leased.
func (u *unconfirmedLeases) lease(duration time.Duration, query func(newID, unconfirmedIDs any) error) (leaseID string, err error) {
	began := time.Now()
	call := u.beginCall()
	if err := query(newIDArg{call}, unconfirmedIDsArg{call}); err != nil {
		u.add(call.sentIDs, time.Now().Add(duration))
		return "", err
	}
	last := len(call.sentIDs) - 1
	if last > 0 {
		u.add(call.sentIDs[:last], time.Now().Add(duration))
	}
	u.confirm(began)
	return call.sentIDs[last], nil
}

// any reports whether there are unconfirmed leases.
func (u *unconfirmedLeases) any() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ids) > 0
}

// beginCall returns the IDs that one call of Lease starts with.
func (u *unconfirmedLeases) beginCall() *leaseCall {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &leaseCall{prefix: u.prefix, unconfirmedIDs: slices.Clone(u.ids)}
}

// add adds the IDs of leases that have all expired by the time expireBy.
func (u *unconfirmedLeases) add(ids []string, expireBy time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids = append(u.ids, ids...)
	u.ids = u.ids[max(len(u.ids)-maxUnconfirmed, 0):]
	if expireBy.After(u.expireBy) {
		u.expireBy = expireBy
	}
}

// confirm notes that a call of Lease was answered. It forgets all IDs if their leases had
// expired when that call began.
func (u *unconfirmedLeases) confirm(callBegan time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !callBegan.Before(u.expireBy) {
		u.ids = nil
	}
}

// leaseCall holds the lease IDs of one call of Lease. If the connection breaks,
// database/sql sends the statement again and asks for the values of its arguments
// again. So each try has a new ID, and takes the events that the earlier tries leased.
type leaseCall struct {
	prefix         leaseIDPrefix
	unconfirmedIDs []string
	sentIDs        []string // one for each try, the newest last
}

// newIDArg is a statement argument. Each try gets a new lease ID from it.
type newIDArg struct{ *leaseCall }

// Value implements driver.Valuer.
func (n newIDArg) Value() (driver.Value, error) {
	id := n.prefix.newID()
	n.sentIDs = append(n.sentIDs, id)
	return id, nil
}

// unconfirmedIDsArg is a statement argument: the IDs of all unconfirmed leases, those
// of the earlier tries included.
type unconfirmedIDsArg struct{ *leaseCall }

// Value implements driver.Valuer.
func (u unconfirmedIDsArg) Value() (driver.Value, error) {
	return pq.StringArray(slices.Concat(u.unconfirmedIDs, u.sentIDs)).Value()
}
