package postgres

import (
	"sync"
	"time"

	"github.com/lib/pq"
)

const (
	maxFoundHeads = 1024        // that one query finds
	maxHeadsAge   = time.Second // after which found heads are dropped: events have become due since

	// maxHeadsOnly is how long leases may take found heads only. Then leaseQuery has its turn:
	// events on the long schedule are no heads, and would wait as long as heads keep coming.
	maxHeadsOnly = 5 * time.Second
)

// findHeads finds up to $1 heads of queues that are due and not leased, the earliest first.
const findHeads = nextEvents + `
	SELECT e.id, e.seq FROM monitor_events e
	WHERE e.id = ANY (ARRAY(SELECT id FROM head)) AND (e.next_attempt_at <= now() OR ` + retryBeyondChosen + `)
	  AND (e.leased_until IS NULL OR e.leased_until <= now())
	ORDER BY e.next_attempt_at, e.seq
	LIMIT $1`

// leaseHeads is leaseQuery for the heads with the IDs $5 and the seqs $6. One that is still
// pending with this seq is still the head of its queue. Later events have a higher seq, and
// Redeliver gives one. An event that has gone to the long schedule meanwhile has a retry later
// than maxHeadsAge.
const leaseHeads = `
	WITH next (id, seq) AS (SELECT * FROM unnest(CAST($5 AS uuid[]), CAST($6 AS bigint[])))` + leaseNext

// head is the first event of a queue.
type head struct {
	ID  string `db:"id"`
	Seq int64  `db:"seq"`
}

// idsAndSeqs returns the arguments $5 and $6 of leaseHeads.
func idsAndSeqs(heads []head) (ids, seqs any) {
	idList, seqList := make(pq.StringArray, len(heads)), make(pq.Int64Array, len(heads))
	for n, h := range heads {
		idList[n], seqList[n] = h.ID, h.Seq
	}
	return idList, seqList
}

// headList holds heads that were found and not yet leased.
type headList struct {
	mu       sync.Mutex
	found    []head // the earliest due first
	foundAt  time.Time
	moreLeft bool      // more are due than were found or leased
	since    time.Time // of the last expectMore
}

// expectMore makes take find heads, because leaseQuery has left more than its limit.
func (l *headList) expectMore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moreLeft, l.since = true, time.Now()
}

// take removes up to limit heads from the list. It fills an empty list by find, if there are
// more.
func (l *headList) take(limit int, find func() ([]head, error)) ([]head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) > 0 && time.Since(l.foundAt) > maxHeadsAge {
		l.found, l.moreLeft = nil, true
	}
	if time.Since(l.since) > maxHeadsOnly {
		l.found, l.moreLeft = nil, false
	}
	if len(l.found) == 0 && l.moreLeft {
		began := time.Now()
		found, err := find()
		if err != nil {
			return nil, err
		}
		l.found, l.foundAt, l.moreLeft = found, began, len(found) == maxFoundHeads
	}
	n := min(limit, len(l.found))
	taken := l.found[:n]
	l.found = l.found[n:]
	return taken, nil
}
