package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
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
	check(t, err)
	return position
}

// reader reads the feed from a position and reconnects at random, each time to one of
// the gateways. It records each event_id.
type reader struct {
	gateways []*feeds.Feed
	position feed.Position
	events   map[string]int
}

// readUntil reads until it has a version.
func (r *reader) readUntil(ctx context.Context, last int64) error {
	for r.position.Version < last {
		from, err := r.gateways[rand.IntN(len(r.gateways))].Follow("", r.position)
		if err != nil {
			return err
		}
		err = r.readSome(ctx, from, 1+rand.IntN(40), last)
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// readSome reads until it has n entries or the last version, or the reader is dropped.
func (r *reader) readSome(ctx context.Context, from *feeds.Reader, n int, last int64) error {
	for n > 0 && r.position.Version < last {
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
	check(t, err)
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
	readers := make([]reader, 20)
	var reading, writing sync.WaitGroup
	for i := range readers {
		readers[i] = reader{gateways: gateways, position: start, events: map[string]int{}}
		reading.Go(func() {
			if err := readers[i].readUntil(ctx, start.Version+writers*each); err != nil {
				t.Error(err)
			}
		})
	}
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
	reading.Wait()
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
