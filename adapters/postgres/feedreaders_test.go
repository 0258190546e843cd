package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// startFeed runs the feed of one gateway until the test ends.
func startFeed(t testing.TB, s *postgres.Store, cfg feeds.Config) *feeds.Feed {
	t.Helper()
	check(t, s.RenewFeedEpoch(t.Context())) // so that the first positions are of the last epoch
	ctx, cancel := context.WithCancel(t.Context())
	wakes := s.ListenFeed(ctx, nil)
	f := must(feeds.New(s, wakes, cfg))(t)
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		for range wakes { // closed when the listener has ended
		}
	})
	return f
}

// presentPosition is the position of a reader that has just connected.
func presentPosition(t testing.TB, s *postgres.Store) feed.Position {
	t.Helper()
	_, position, err := s.ReadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return position
}

// reader reads the feed from a position and reconnects at random, each time to one of
// the gateways. It records each event_id.
type reader struct {
	gateways []*feeds.Feed
	position feed.Position
	events   map[string]int
}

// readUntil reads until done returns true of the last version.
func (r *reader) readUntil(ctx context.Context, done func(version int64) bool) error {
	for !done(r.position.Version) {
		from, err := r.gateways[rand.IntN(len(r.gateways))].Follow("", r.position)
		if err != nil {
			return err
		}
		err = r.readSome(ctx, from, 1+rand.IntN(40), done)
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// readSome reads until it has n entries, the reader is dropped or done is true.
func (r *reader) readSome(ctx context.Context, from *feeds.Reader, n int, done func(version int64) bool) error {
	for n > 0 && !done(r.position.Version) {
		messages, err := from.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after version %d: %w", r.position.Version, err)
		}
		for _, m := range messages {
			switch m.Type {
			case feed.HeartbeatType, feed.ByeType:
				continue
			case feed.DeliveryUpdated:
			default:
				return fmt.Errorf("after version %d came %s", r.position.Version, m.Line)
			}
			if want := r.position.Version + 1; m.Position.Version != want || m.Position.Epoch != r.position.Epoch {
				return fmt.Errorf("version %s came, want %d", m.Position, want)
			}
			var line struct {
				Data struct {
					EventID string `json:"event_id"`
				} `json:"data"`
			}
			if err := json.Unmarshal(m.Line, &line); err != nil {
				return err
			}
			r.position, n = m.Position, n-1
			r.events[line.Data.EventID]++
		}
	}
	return nil
}

// readAll runs 20 readers at once, until done.
func readAll(ctx context.Context, gateways []*feeds.Feed, from feed.Position, done func(version int64) bool) (readers []*reader, wait func() error) {
	errs := make(chan error, 20)
	for range cap(errs) {
		r := &reader{gateways: gateways, position: from, events: map[string]int{}}
		readers = append(readers, r)
		go func() { errs <- r.readUntil(ctx, done) }()
	}
	return readers, func() error {
		var all error
		for range cap(errs) {
			all = errors.Join(all, <-errs)
		}
		return all
	}
}

// slowCommits makes each commit of a change take up to a millisecond.
const slowCommits = `
	CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(random() / 1000); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON feed_inbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pause()`

// storedEvents stores events that have no change in the feed, and returns their IDs.
func storedEvents(t testing.TB, s *postgres.Store, db *sql.DB, n int) (ids []string) {
	t.Helper()
	m := register(t, s, 1)
	numberFeed(t, s)
	rows, err := db.QueryContext(t.Context(), `
		WITH added AS (
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'sent', now() FROM generate_series(1, $2)
			RETURNING *)
		INSERT INTO deliveries (id, monitor_id, event_id, state, created_at) SELECT id, monitor_id, id, 'delivered', created_at FROM added RETURNING id`, m.ID, n)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		check(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	check(t, rows.Err())
	return ids
}

func TestNoReaderSkipsOrRepeatsAVersionWhateverCommitsOutOfOrder(t *testing.T) {
	t.Parallel()
	const writers, each = 20, 40
	dsn := create(t, template) // not for reuse
	db, first, second := raw(t, dsn), open(t, dsn), open(t, dsn)
	alter(t, db, slowCommits)
	ids := storedEvents(t, first, db, writers*each)
	// A small ring, so that readers continue from memory and from the store.
	cfg := feeds.Config{MaxEntries: 32, PageSize: 16, Heartbeat: 200 * time.Millisecond}
	gateways := []*feeds.Feed{startFeed(t, first, cfg), startFeed(t, second, cfg)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	start := presentPosition(t, first)
	readers, wait := readAll(ctx, gateways, start, func(version int64) bool { return version == start.Version+writers*each })
	var writing sync.WaitGroup
	for w := range writers {
		store := []*postgres.Store{first, second}[w%2]
		writing.Go(func() {
			for n := range each {
				id := ids[w*each+n]
				if n%10 == 0 {
					store.ChangeEventAndRollBack(ctx, id)
				}
				if err := store.ChangeEvent(ctx, time.Duration(rand.IntN(4000))*time.Microsecond, id); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	writing.Wait()
	check(t, wait())
	for i, r := range readers {
		for event, n := range r.events {
			if n != 1 {
				t.Errorf("reader %d got %s %d times", i, event, n)
			}
		}
		if len(r.events) != writers*each {
			t.Errorf("reader %d got %d entries, want %d", i, len(r.events), writers*each)
		}
	}
}

func TestReadersContinueWhenTheDatabaseIsKilled(t *testing.T) {
	dir := shortDir(t)
	own, s := startServer(t, dir)
	other := open(t, own.DSN())
	cfg := feeds.Config{MaxEntries: 32, Heartbeat: 200 * time.Millisecond}
	gateways := []*feeds.Feed{startFeed(t, s, cfg), startFeed(t, other, cfg)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ids := storedEvents(t, s, raw(t, own.DSN()), 61)
	var last atomic.Int64 // the version of the newest entry, once nothing more is written
	last.Store(math.MaxInt64)
	_, wait := readAll(ctx, gateways, presentPosition(t, s), func(version int64) bool { return version >= last.Load() })
	for n := range 60 {
		if n == 20 {
			killServer(t, dir)
		}
		eventually(t, "a change is stored", func() bool { return s.ChangeEvent(ctx, 0, ids[n]) == nil })
	}
	numberFeed(t, s)
	last.Store(presentPosition(t, s).Version)
	check(t, s.ChangeEvent(ctx, 0, ids[60])) // wakes readers that have the last one
	check(t, wait())
}
