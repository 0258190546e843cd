package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
			if more, err := s.NumberFeed(t.Context()); err == nil {
				t.Errorf("the feed is damaged, and could be numbered (more: %t)", more)
			}
			alter(t, db, c.repair)
			want := []string{"monitor.updated monitoring", "delivery.updated pending 0", "incident.updated open"}
			if lines, _ := feedSince(t, s, db, head); !slices.Equal(lines, want) {
				t.Errorf("after the repair the feed has %q, want %q", lines, want)
			}
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
			if e.Version != after+int64(i)+1 {
				t.Fatalf("version %d follows %d", e.Version, after+int64(i))
			}
			numbered[fieldOf(t, e.Data, "event_id")]++
		}
		return len(page.Entries) == len(ids)
	})
	for _, id := range ids {
		if numbered[id] != 1 {
			t.Errorf("event %s has %d entries", id, numbered[id])
		}
	}
}

func TestManyChangesGetTheirVersionsInSeveralSteps(t *testing.T) {
	s, db := newStore(t)
	ids := storedEvents(t, s, db, 1100)
	before := presentPosition(t, s)
	alter(t, db, `INSERT INTO feed_inbox (type, id) SELECT 'delivery.updated', id FROM monitor_events`)
	alter(t, db, `INSERT INTO feed_inbox (type, id) VALUES ('delivery.updated', gen_random_uuid())`) // deleted since
	for step, want := range []bool{true, true, false} {
		if more := must(s.NumberFeed(t.Context()))(t); more != want {
			t.Errorf("after step %d there are more: %t", step+1, more)
		}
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
	if lines, _ := feedSince(t, s, db, head); !slices.Equal(lines, []string{"delivery.updated sent 7"}) {
		t.Errorf("the feed has %q", lines)
	}
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
	written := make(chan struct{})
	var numbering sync.WaitGroup
	for _, gateway := range []*postgres.Store{s, other} {
		numbering.Go(func() {
			for ended := false; !ended; {
				select {
				case <-written:
					ended = true
				default:
				}
				if _, err := gateway.NumberFeed(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		alter(t, db, `WITH attempted AS (UPDATE monitor_events SET webhook_attempts = webhook_attempts + 1 WHERE id = $1 RETURNING id)
			INSERT INTO feed_inbox (type, id) SELECT 'delivery.updated', id FROM attempted`, ids[0])
	}
	close(written)
	numbering.Wait()
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
