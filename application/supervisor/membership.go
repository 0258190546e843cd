package supervisor

import (
	"context"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Gateways whose workers end with them, in private runtimes, tell each other by heartbeats that
// they run. A heartbeat is missed when an exchange with the database shows no new one. A gateway
// that dies has missed four after 3 to 5 s.
const (
	heartbeatInterval = time.Second

	// heartbeatTimeout limits one exchange. A lost connection to the database costs one exchange,
	// and the next one opens another connection.
	heartbeatTimeout = 2 * time.Second

	// deadAfter is how many heartbeats a dead gateway has missed. A gateway whose connection breaks
	// misses at most three.
	deadAfter = 4

	// anyoneAfter is how many heartbeats a dead gateway has missed when every gateway may take over its
	// monitors. Until then each monitor is left to its successor, which may be stopping, or may not
	// have seen the dead gateway alive.
	anyoneAfter = deadAfter + 3

	// excusedAfterFailure is the number of exchanges after a failed one in which a missing heartbeat
	// does not count. The database may have failed for the other gateways too, and they may come
	// back later.
	excusedAfterFailure = 4

	// takeoverPause is the time between two takeovers, and takeoverSpread that in which all begin. So
	// the first checks of hundreds of streams do not ask media servers at one instant. Two cores take
	// about one takeoverPause for a check.
	takeoverPause  = 4 * time.Millisecond
	takeoverSpread = 2 * time.Second
)

// Membership finds out which gateways have died, and which of the others takes over each of their
// monitors (decision O5). It is for gateways whose workers end with them.
type Membership struct {
	store   MembershipStore
	runtime Runtime
	log     *slog.Logger
	due     chan struct{} // receives when there may be monitors to take over

	mu     sync.Mutex
	others map[string]member // by runtime ID
}

// member is another gateway.
type member struct {
	heartbeats int64
	seen       bool // it has sent a heartbeat since this gateway first read of it
	silent     int  // exchanges in a row without a new heartbeat
	missed     int  // those of them that count
	excused    int  // the next so many that it misses do not count
}

func (m member) dead() bool { return m.seen && m.missed >= deadAfter }

func newMembership(store MembershipStore, r Runtime, log *slog.Logger) *Membership {
	return &Membership{store: store, runtime: r, log: log, due: make(chan struct{}, 1), others: map[string]member{}}
}

// Join sends heartbeats until ctx is done, and counts those that the other gateways miss. It is called
// once, when Run begins, so that no other gateway takes over what this one launches. ctx must be
// done when the shutdown begins, because the gateway takes over no monitor from then on.
//
// A gateway that sends none leaves. An earlier one of its runtime may have sent some and died, and
// the others would take over what this one launches.
func (m *Membership) Join(ctx context.Context) {
	if m.runtime.Shared {
		_ = retry(ctx, m.log, heartbeatTimeout, "leave the other gateways", func(ctx context.Context) error {
			return m.store.Leave(ctx, m.runtime.ID)
		})
		return
	}
	defer m.leave()
	for failing := false; ; {
		began := time.Now()
		var counts map[string]int64
		err := attempt(ctx, heartbeatTimeout, func(ctx context.Context) (err error) {
			counts, err = m.store.Heartbeat(ctx, m.runtime.ID)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			m.record(counts)
		default:
			m.excuse()
			if !failing {
				m.log.Warn("cannot send a heartbeat to the other gateways, will try again", "error", err.Error())
			}
		}
		failing = err != nil
		if !wait.For(ctx, heartbeatInterval-time.Since(began)) {
			return
		}
	}
}

// leave tells the other gateways that this one stops. They leave its monitors to Handover.
func (m *Membership) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatTimeout)
	defer cancel()
	if err := m.store.Leave(ctx, m.runtime.ID); err != nil {
		m.log.Warn("cannot tell the other gateways that this one stops, they may take over its monitors before their workers have ended", "error", err.Error())
	}
}

// record compares how many heartbeats each gateway has sent with the exchange before. A gateway that
// counts no longer holds has stopped.
func (m *Membership) record(counts map[string]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.others
	m.others = map[string]member{}
	for id, n := range counts {
		if id == m.runtime.ID {
			continue
		}
		now, known := before[id]
		switch {
		case !known:
			now = member{heartbeats: n}
		case now.heartbeats != n:
			if now.dead() {
				m.log.Info("a gateway that counted as dead sends heartbeats again", "runtime_id", id)
			}
			// The excuse remains, because the heartbeat may be from before the failure.
			now = member{heartbeats: n, seen: true, excused: max(now.excused-1, 0)}
		case now.excused > 0:
			now.silent, now.excused = now.silent+1, now.excused-1
		default:
			now.silent, now.missed = now.silent+1, now.missed+1
		}
		m.others[id] = now
		if !now.seen {
			continue
		}
		if now.missed == deadAfter {
			m.log.Warn("a gateway has died or cannot reach the database, the other gateways take over its monitors", "runtime_id", id)
		}
		if now.missed == deadAfter || now.missed == anyoneAfter {
			notify(m.due)
		}
	}
}

// excuse gives the other gateways time, because an exchange has failed: the longer, the more have
// failed in a row. After an outage of some ten seconds the leases of the reports end first.
func (m *Membership) excuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, other := range m.others {
		if !other.dead() { // a death is known once
			other.missed, other.excused = 0, other.excused+excusedAfterFailure
			m.others[id] = other
		}
	}
}

// takesOver reports whether this gateway is to take over a monitor of that runtime. The runtime's
// gateway is dead, and this one is the monitor's successor, or the successor has not acted in time.
func (m *Membership) takesOver(id monitor.ID, runtimeID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	former := m.others[runtimeID]
	return former.dead() && (former.missed >= anyoneAfter || m.successor(id) == m.runtime.ID)
}

// beats reports whether the gateway of another private runtime sends heartbeats. The workers of one that does not have ended
// with it.
func (m *Membership) beats(runtimeID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	other := m.others[runtimeID]
	return other.seen && other.silent < deadAfter
}

// successor returns the runtime ID of the gateway that takes over a monitor. All gateways that see
// the same members choose the same one, and the monitors of one gateway spread evenly over them
// (rendezvous hashing). The caller holds mu.
func (m *Membership) successor(id monitor.ID) string {
	chosen, highest := m.runtime.ID, weight(id, m.runtime.ID)
	for other, state := range m.others {
		if w := weight(id, other); state.seen && !state.dead() && w > highest {
			chosen, highest = other, w
		}
	}
	return chosen
}

func weight(id monitor.ID, runtimeID string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(string(id) + " " + runtimeID)) // it never fails
	return hash.Sum64()
}
