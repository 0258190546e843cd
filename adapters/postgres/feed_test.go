package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// feedLine is a short form of an entry: its type and the field that the tests expect.
func feedLine(t testing.TB, entryType, data string) string {
	t.Helper()
	var fields struct {
		Status   string `json:"status"`
		Webhook  string `json:"webhook_status"`
		Attempts int    `json:"webhook_attempts"`
		State    string `json:"state"`
	}
	if err := json.Unmarshal([]byte(data), &fields); err != nil {
		t.Fatalf("the data of %s is no JSON: %v: %s", entryType, err, data)
	}
	if fields.Webhook != "" {
		return fmt.Sprintf("%s %s %d", entryType, fields.Webhook, fields.Attempts)
	}
	return entryType + " " + fields.Status + fields.State
}

func numberFeed(t testing.TB, s *postgres.Store) {
	t.Helper()
	eventually(t, "all changes have their versions", func() bool { return !must(s.NumberFeed(t.Context()))(t) })
}

// feedSince returns the entries after a version in short form. It gives their versions to all changes before.
func feedSince(t testing.TB, s *postgres.Store, version int64) (lines []string) {
	t.Helper()
	numberFeed(t, s)
	for _, e := range must(s.ReadFeed(t.Context(), version, 1000))(t).Entries {
		version++
		require(t, "the next version", e.Version, version)
		lines = append(lines, feedLine(t, string(e.Type), string(e.Data)))
	}
	return lines
}

// feedHead returns the version of the newest entry. It gives their versions to all changes
// before.
func feedHead(t testing.TB, s *postgres.Store, db *sql.DB) int64 {
	t.Helper()
	numberFeed(t, s)
	return value[int64](t, db, `SELECT version FROM feed_head`)
}

func TestAReportThatChangesNothingVisibleIsNotAppendedToTheFeed(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	m := registerWith(t, s, 1)
	head := feedHead(t, s, db)
	for second := range 5 {
		r := report()
		r.At = noon.Add(time.Duration(second) * time.Second)
		r.Health.LastCheckAt = r.At
		r.Statistics.TotalSegmentsAnalyzed += second
		r.Visibility = &monitor.Visibility{LastObservedAt: r.At}
		acceptReport(t, s, m.ID, r, monitor.Run)
	}
	expectLen(t, "entries of heartbeats", feedSince(t, s, head), 0)
}

// A monitor whose row cannot be read makes no entry, and its reports are accepted. Readers
// get the whole state once, which leaves the monitor out.
func TestAReportIsAcceptedThoughItsChangeCannotBeAppendedToTheFeed(t *testing.T) {
	t.Parallel()
	s, db := newStore(t)
	m := register(t, s, 1)
	renew := func() string {
		t.Helper()
		check(t, s.RenewFeedEpoch(t.Context()))
		return presentPosition(t, s).Epoch
	}
	before, head := renew(), feedHead(t, s, db)
	alter(t, db, `UPDATE monitors SET config = '{"check_interval_sec": "often"}' WHERE id = $1`, m.ID)
	acceptReport(t, s, m.ID, report(blackout(40)), monitor.Run)
	expect(t, "the feed", feedSince(t, s, head), []string{"delivery.updated pending 0", "incident.updated open"})
	after := renew()
	if after == before {
		t.Error("the epoch is the same, though a change was left out")
	}
	if state, _, err := s.ReadState(t.Context()); err != nil || len(state.Monitors) != 0 {
		t.Errorf("the state has %+v, %v; want no monitor", state.Monitors, err)
	}
	expect(t, "the epoch after a state without the monitor", renew(), after)
}

// While one gateway gives versions, and is halted, reports of different monitors do not wait.
func TestReportsDoNotWaitForEachOtherBecauseOfTheFeed(t *testing.T) {
	s, db := newStore(t)
	first, second := register(t, s, 1), register(t, s, 2)
	holding(t, db, `SELECT FROM feed_head FOR UPDATE`)
	for n, m := range []monitor.Monitor{first, second} {
		acceptReport(t, s, m.ID, report(blackout(n)), monitor.Run) // fails when it waits for a lock until its timeout
	}
}

// damaged makes every statement that changes a table fail, as a damaged index does.
func damaged(table string) string {
	return `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''damaged'' USING ERRCODE = ''XX002''; END';
		CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ` + table + ` EXECUTE FUNCTION fail()`
}

// A feed that is damaged or locked refuses no alert, and has all of its changes when it is repaired.
func TestAFeedThatCannotBeWrittenLosesNothing(t *testing.T) {
	for name, c := range map[string]struct{ damage, repair string }{
		"a damaged index of the feed": {damaged("feed"), `DROP TRIGGER fail ON feed`},
		"a damaged head of the feed":  {damaged("feed_head"), `DROP TRIGGER fail ON feed_head`},
		"a full disk":                 {`ALTER TABLE feed ADD CONSTRAINT nothing CHECK (version < 0) NOT VALID`, `ALTER TABLE feed DROP CONSTRAINT nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := create(t, template) // not for reuse
			s, db := open(t, dsn), raw(t, dsn)
			m := register(t, s, 1)
			head := feedHead(t, s, db)
			alter(t, db, c.damage)
			acceptReport(t, s, m.ID, report(blackout(40)), monitor.Run)
			expectFailure(t, "numbering a damaged feed", errorOf(s.NumberFeed(t.Context())))
			alter(t, db, c.repair)
			expect(t, "the feed", feedSince(t, s, head), []string{"monitor.updated monitoring", "delivery.updated pending 0", "incident.updated open"})
		})
	}
}

// A gateway dies, or is halted, at each statement with which it gives versions.
func TestNoChangeIsLostOrNumberedTwiceWhenAGatewayDies(t *testing.T) {
	const events = 30
	for _, step := range []string{"FROM feed_head FOR UPDATE", "DELETE FROM feed_inbox", "FROM monitor_events", "INSERT INTO feed ", "COMMIT"} {
		for how, what := range map[string]loss{"before": lostRequest, "after": lostAnswer, "halted after": silentLoss} {
			t.Run(how+" "+step, func(t *testing.T) {
				t.Parallel()
				dsn := create(t, template)
				proxied := startProxy(t, dsn)
				dying, other, db := open(t, proxied.dsn), open(t, dsn), raw(t, dsn)
				ids := storedEvents(t, other, db, events)
				before := presentPosition(t, other)
				for _, id := range ids {
					check(t, other.ChangeEvent(t.Context(), 0, id))
				}
				dead := false
				proxied.lose(func(statement string) loss {
					if dead = dead || strings.Contains(statement, step); dead {
						return what
					}
					return noLoss
				})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); _, _ = dying.NumberFeed(ctx) }()
				eventually(t, "the gateway is dead", func() bool { return proxied.losses() > 0 })
				requireNumberedOnce(t, other, before.Version, ids)
				cancel()
				<-done
			})
		}
	}
}

// requireNumberedOnce requires that each event gets one entry after a version, without gaps.
func requireNumberedOnce(t *testing.T, s *postgres.Store, after int64, ids []string) {
	t.Helper()
	numbered := map[string]int{}
	eventually(t, fmt.Sprintf("%d changes have versions", len(ids)), func() bool {
		numberFeed(t, s)
		page := must(s.ReadFeed(t.Context(), after, len(ids)+1))(t)
		clear(numbered)
		for i, e := range page.Entries {
			require(t, "the next version", e.Version, after+int64(i)+1)
			numbered[fieldOf(t, e.Data, "event_id")]++
		}
		return len(page.Entries) == len(ids)
	})
	for _, id := range ids {
		expect(t, "entries of event "+id, numbered[id], 1)
	}
}

func TestManyChangesGetTheirVersionsInSeveralSteps(t *testing.T) {
	s, db := newStore(t)
	ids := storedEvents(t, s, db, 1100)
	before := presentPosition(t, s)
	alter(t, db, `INSERT INTO feed_inbox (type, id) SELECT 'delivery.updated', id FROM monitor_events`)
	alter(t, db, `INSERT INTO feed_inbox (type, id) VALUES ('delivery.updated', gen_random_uuid())`) // deleted since
	for _, want := range []bool{true, true, false} {
		expect(t, "more are left", must(s.NumberFeed(t.Context()))(t), want)
	}
	requireNumberedOnce(t, s, before.Version, ids)
}

// Attempts of one delivery that come together are one entry, with the newest state.
func TestChangesOfOneObjectAreOneEntry(t *testing.T) {
	s, db := newStore(t)
	ids := storedEvents(t, s, db, 1)
	head := feedHead(t, s, db)
	for range 3 {
		check(t, s.ChangeEvent(t.Context(), 0, ids[0]))
	}
	alter(t, db, `UPDATE monitor_events SET webhook_attempts = 7`)
	expect(t, "the feed", feedSince(t, s, head), []string{"delivery.updated sent 7"})
}

// Two gateways give versions at once. An object as one has read it must not follow that of the other, who read it later.
func TestAnObjectNeverGoesBackInTheFeed(t *testing.T) {
	t.Parallel()
	dsn := create(t, template) // not for reuse
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	alter(t, db, `
		CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(random() / 100); RETURN NULL; END';
		CREATE TRIGGER pause BEFORE UPDATE ON feed_head FOR EACH STATEMENT EXECUTE FUNCTION pause()`)
	ids := storedEvents(t, s, db, 1)
	before := presentPosition(t, s)
	var written atomic.Bool
	allAtOnce(t, func() error {
		defer written.Store(true)
		for n := range 100 {
			if n == 50 { // however seldom the others get their turn
				if _, err := s.NumberFeed(t.Context()); err != nil {
					return err
				}
			}
			if _, err := db.ExecContext(t.Context(), `WITH attempted AS (UPDATE monitor_events SET webhook_attempts = webhook_attempts + 1 WHERE id = $1 RETURNING id)
				INSERT INTO feed_inbox (type, id) SELECT 'delivery.updated', id FROM attempted`, ids[0]); err != nil {
				return err
			}
		}
		return nil
	}, func() (err error) {
		for err == nil && !written.Load() {
			_, err = s.NumberFeed(t.Context())
		}
		return err
	}, func() (err error) {
		for err == nil && !written.Load() {
			_, err = other.NumberFeed(t.Context())
		}
		return err
	})
	numberFeed(t, s)
	page := must(s.ReadFeed(t.Context(), before.Version, 1000))(t)
	last := -1
	for _, e := range page.Entries {
		var d feed.Delivery
		if err := json.Unmarshal(e.Data, &d); err != nil || d.WebhookAttempts < last {
			t.Errorf("after %d attempts the feed has %d, %v", last, d.WebhookAttempts, err)
		}
		last = d.WebhookAttempts
	}
	if len(page.Entries) < 2 || last != 100 {
		t.Errorf("the last of %d entries has %d attempts, want 100", len(page.Entries), last)
	}
}

func presentPosition(t testing.TB, s *postgres.Store) feed.Position {
	t.Helper()
	_, position, err := s.ReadState(t.Context())
	check(t, err)
	return position
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
	return values[string](t, db, `
		WITH added AS (
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'sent', now() FROM generate_series(1, $2)
			RETURNING *)
		INSERT INTO deliveries (id, monitor_id, event_id, state, created_at) SELECT id, monitor_id, id, 'delivered', created_at FROM added RETURNING id`, m.ID, n)
}

// Readers continue at one of two gateways, which both give versions, from the last version that they have read.
func TestNoReaderSkipsOrRepeatsAVersionWhateverCommitsOutOfOrder(t *testing.T) {
	t.Parallel()
	const writers, each, readers = 20, 40, 6
	dsn := create(t, template) // not for reuse
	db, gateways := raw(t, dsn), []*postgres.Store{open(t, dsn), open(t, dsn)}
	alter(t, db, slowCommits)
	ids := storedEvents(t, gateways[0], db, writers*each)
	start := feedHead(t, gateways[0], db)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	write := func(w int) (err error) {
		for n, id := range ids[w*each : (w+1)*each] {
			if n%10 == 0 {
				gateways[w%2].ChangeEventAndRollBack(ctx, id)
			}
			err = errors.Join(err, gateways[w%2].ChangeEvent(ctx, time.Duration(rand.IntN(4000))*time.Microsecond, id))
		}
		return err
	}
	read := func() error {
		for last := start; last < start+writers*each; {
			s := gateways[rand.IntN(2)]
			_, failed := s.NumberFeed(ctx)
			page, err := s.ReadFeed(ctx, last, 1+rand.IntN(40))
			if err = errors.Join(failed, err); err != nil {
				return err
			}
			for _, e := range page.Entries {
				last++
				expect(t, "the next version", e.Version, last)
			}
		}
		return nil
	}
	atOnce(t, writers+readers, func(i int) error {
		if i < writers {
			return write(i)
		}
		return read()
	})
	requireNumberedOnce(t, gateways[0], start, ids)
}
