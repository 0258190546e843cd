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
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// countingStore counts the queries of a Feed.
type countingStore struct {
	feeds.Store

	pages, states atomic.Int64
}

func (s *countingStore) ReadFeed(ctx context.Context, after int64, limit int) (feed.Page, error) {
	s.pages.Add(1)
	return s.Store.ReadFeed(ctx, after, limit)
}

func (s *countingStore) ReadState(ctx context.Context) (feed.State, feed.Position, error) {
	s.states.Add(1)
	return s.Store.ReadState(ctx)
}

// startFeed runs the feed of one gateway until the test ends.
func startFeed(t testing.TB, s *postgres.Store, cfg feeds.Config) (*feeds.Feed, *countingStore) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wakes, counted := s.ListenFeed(ctx, nil), &countingStore{Store: s}
	f, err := feeds.New(counted, wakes, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		for range wakes { // closed when the listener has ended
		}
	})
	eventually(t, "the gateway follows the feed", func() bool { return counted.pages.Load() > 0 })
	return f, counted
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
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
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
	one, _ := startFeed(t, first, cfg)
	two, _ := startFeed(t, second, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	start := presentPosition(t, first)
	readers, wait := readAll(ctx, []*feeds.Feed{one, two}, start, func(version int64) bool { return version == start.Version+writers*each })
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
	if err := wait(); err != nil {
		t.Fatal(err)
	}
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

func TestFiveHundredReadersCostTwoQueriesPerChange(t *testing.T) {
	t.Parallel()
	const readers, changes = 500, 20
	dsn := database(t)
	s := open(t, dsn)
	ids := storedEvents(t, s, raw(t, dsn), changes)
	gateway, queries := startFeed(t, s, feeds.Config{Heartbeat: time.Hour})
	start := presentPosition(t, s)
	eventually(t, "the gateway continues readers from memory", func() bool {
		from, err := gateway.Follow("", start)
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		before := queries.pages.Load()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _ = from.Next(ctx) // the heartbeat, or none in time
		_, _ = from.Next(ctx)
		return queries.pages.Load() == before
	})
	before := queries.pages.Load()
	var received [changes + 1]atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var reading sync.WaitGroup
	for i := range readers {
		from, err := gateway.Follow(fmt.Sprint("key ", i%5), start) // a key has 200 readers
		if err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			defer from.Close()
			r := &reader{position: start, events: map[string]int{}}
			for n := 1; n <= changes; n++ {
				if err := r.readSome(ctx, from, 1, func(int64) bool { return false }); err != nil {
					t.Error(err)
					return
				}
				received[n].Add(1)
			}
		})
	}
	for n := 1; n <= changes; n++ {
		if err := s.ChangeEvent(ctx, 0, ids[n-1]); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("%d readers have change %d", readers, n), func() bool { return received[n].Load() == readers })
	}
	reading.Wait()
	// A change wakes the gateway, and so does its version. The listener wakes it once more when it begins
	// to listen, and the new epoch does.
	if got := queries.pages.Load() - before; got > 2*changes+2 || queries.states.Load() != 0 {
		t.Errorf("%d changes for %d readers cost %d queries and %d states, want two per change and 0", changes, readers, got, queries.states.Load())
	}
}

func TestReadersContinueWhenTheDatabaseIsKilled(t *testing.T) {
	dir := shortDir(t)
	own, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s, other := open(t, own.DSN()), open(t, own.DSN())
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := feeds.Config{MaxEntries: 32, Heartbeat: 200 * time.Millisecond}
	one, _ := startFeed(t, s, cfg)
	two, _ := startFeed(t, other, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ids := storedEvents(t, s, raw(t, own.DSN()), 61)
	start := presentPosition(t, s)
	var last atomic.Int64 // the version of the newest entry, once nothing more is written
	last.Store(math.MaxInt64)
	_, wait := readAll(ctx, []*feeds.Feed{one, two}, start, func(version int64) bool { return version >= last.Load() })
	for n := range 60 {
		if n == 20 {
			killServer(t, dir)
		}
		for s.ChangeEvent(ctx, 0, ids[n]) != nil {
			if ctx.Err() != nil {
				t.Fatal("the database does not come back")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	numberFeed(t, s)
	last.Store(presentPosition(t, s).Version)
	if err := s.ChangeEvent(ctx, 0, ids[60]); err != nil { // wakes readers that have the last one
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}
