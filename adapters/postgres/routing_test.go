package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// reversing is a stand-in for encryption: it writes the text backwards, after the name of
// its key and the id of the row.
type reversing struct{ first, older string }

func (r reversing) Seal(text []byte, rowID string) ([]byte, error) {
	backwards := slices.Clone(text)
	slices.Reverse(backwards)
	return append([]byte(r.first+"/"+rowID+"/"), backwards...), nil
}

func (r reversing) Open(sealed []byte, rowID string) (text []byte, current bool, err error) {
	for _, key := range []string{r.first, r.older} {
		if backwards, is := bytes.CutPrefix(sealed, []byte(key+"/"+rowID+"/")); is && key != "" {
			text = slices.Clone(backwards)
			slices.Reverse(text)
			return text, key == r.first, nil
		}
	}
	return nil, false, errors.New("no key of SECRETS_KEY opens it")
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func createDestination(t testing.TB, s *postgres.Store, name string) notify.Destination {
	t.Helper()
	return must(s.CreateDestination(t.Context(), exampleDestination(name)))(t).Destination
}

func exampleDestination(name string) notify.Destination {
	return notify.Destination{
		ID: newID(), Name: name, Kind: notify.Slack, Language: notify.Japanese, Enabled: true,
		Config: map[string]string{"channel": "#監視"}, Secrets: map[string]string{"bot_token": "xoxb-secret"},
	}
}

func createRoute(t testing.TB, s *postgres.Store, name string, destinations ...string) notify.Route {
	t.Helper()
	return must(s.CreateRoute(t.Context(), notify.Route{
		ID: newID(), Name: name, Destinations: destinations, Match: notify.Match{MinSeverity: 3},
	}))(t)
}

func silence() notify.Silence {
	return notify.Silence{ID: newID(), StartsAt: noon, CreatedBy: "Hana", Comment: "保守", Match: notify.Match{Metadata: map[string]string{"labels.team": "a"}}}
}

func weekly() notify.Silence {
	s := silence()
	s.Window = &notify.Window{Weekdays: []string{"sun"}, Start: "02:00", End: "04:00", Timezone: "Asia/Tokyo"}
	return s
}

func TestDestinations(t *testing.T) {
	s, db := newStore(t)
	change := func(t *testing.T, id string, change func(*notify.Destination)) (routing.DestinationRecord, error) {
		t.Helper()
		return s.ChangeDestination(t.Context(), id, func(d *notify.Destination) error { change(d); return nil })
	}

	t.Run("are read as they were stored, their secrets encrypted, however often they are created", func(t *testing.T) {
		fallback := createDestination(t, s, "fallback")
		d := exampleDestination("all fields")
		d.Fallback, d.Owner, d.Enabled, d.DisabledReason, d.PreviousUntil = fallback.ID, "a.yaml", false, "it is gone", noon
		for _, got := range []routing.DestinationRecord{must(s.CreateDestination(t.Context(), d))(t), must(s.CreateDestination(t.Context(), d))(t), must(s.Destination(t.Context(), d.ID))(t)} {
			if got.PreviousUntil = got.PreviousUntil.UTC(); !reflect.DeepEqual(got.Destination, d) {
				t.Errorf("is %+v, want %+v", got.Destination, d)
			}
			if time.Since(got.CreatedAt).Abs() > time.Minute || !got.DeliveredAt.IsZero() || !got.FailingSince.IsZero() {
				t.Errorf("the record is %+v", got)
			}
		}
		row := value[string](t, db, `SELECT CAST(d AS text) || convert_from(secrets, 'utf8') FROM destinations d WHERE id = $1`, d.ID)
		if strings.Contains(row, "xoxb-secret") || !strings.Contains(row, "one/"+d.ID) {
			t.Errorf("the row is %s", row)
		}
	})
	t.Run("have names of their own", func(t *testing.T) {
		createDestination(t, s, "taken")
		requireCode(t, errorOf(s.CreateDestination(t.Context(), exampleDestination("taken"))), monitor.NameTaken)
		other := createDestination(t, s, "free")
		requireCode(t, errorOf(change(t, other.ID, func(d *notify.Destination) { d.Name = "taken" })), monitor.NameTaken)
	})
	t.Run("refuse a fallback that does not exist", func(t *testing.T) {
		for _, fallback := range []string{newID(), "no id"} {
			d := exampleDestination("fallback " + fallback)
			d.Fallback = fallback
			expectText(t, "the message", requireCode(t, errorOf(s.CreateDestination(t.Context(), d)), monitor.InvalidConfig).Message, "fallback")
		}
	})
	t.Run("refuse what PostgreSQL cannot store", func(t *testing.T) {
		d := exampleDestination("NUL")
		d.Config["channel"] = "\x00"
		requireCode(t, errorOf(s.CreateDestination(t.Context(), d)), monitor.InvalidConfig)
	})
	t.Run("that do not exist are not found", func(t *testing.T) {
		for _, id := range []string{newID(), "no id"} {
			requireCode(t, errorOf(s.Destination(t.Context(), id)), routing.DestinationNotFound)
			requireCode(t, errorOf(change(t, id, func(*notify.Destination) { t.Error("changed") })), routing.DestinationNotFound)
			check(t, s.DeleteDestination(t.Context(), id))
		}
	})
	t.Run("keep their ID and what a refused change would have changed", func(t *testing.T) {
		d := createDestination(t, s, "changed")
		changed := must(change(t, d.ID, func(d *notify.Destination) { d.ID, d.Name, d.Secrets["bot_token"] = newID(), "renamed", "new" }))(t)
		if changed.ID != d.ID || changed.Name != "renamed" || changed.Secrets["bot_token"] != "new" || changed.Config["channel"] != "#監視" {
			t.Errorf("is %+v", changed)
		}
		refusal := errors.New("refused")
		_, err := s.ChangeDestination(t.Context(), d.ID, func(d *notify.Destination) error { d.Name = "refused"; return refusal })
		if read := must(s.Destination(t.Context(), d.ID))(t); !errors.Is(err, refusal) || read.Name != "renamed" {
			t.Errorf("the error is %v, the name %s", err, read.Name)
		}
	})
	t.Run("that are repaired are tried again at once", func(t *testing.T) {
		for what, repair := range map[string]func(*notify.Destination){
			"enabled": func(d *notify.Destination) { d.Enabled = true },
			"config":  func(d *notify.Destination) { d.Config["channel"] = "#other" },
			"secrets": func(d *notify.Destination) { d.Secrets["bot_token"] = "repaired" },
			"":        func(d *notify.Destination) { d.Name += " renamed" },
		} {
			d := createDestination(t, s, "repaired "+what)
			alter(t, db, `UPDATE destinations SET enabled = false, disabled_reason = 'failing for 5 days', failures = 7,
				failing_since = now(), circuit_open_until = now(), last_error = 'HTTP 500', delivered_at = now() WHERE id = $1`, d.ID)
			failing := must(s.Destination(t.Context(), d.ID))(t)
			if failing.Failures != 7 || failing.FailingSince.IsZero() || failing.CircuitOpenUntil.IsZero() || failing.LastError != "HTTP 500" || failing.DeliveredAt.IsZero() {
				t.Errorf("the health is %+v", failing)
			}
			got := must(change(t, d.ID, repair))(t)
			expect(t, "a change of "+what+" repairs it", got.Failures == 0 && got.FailingSince.IsZero() && got.CircuitOpenUntil.IsZero(), what != "")
			expect(t, "without a reason it is enabled", got.DisabledReason == "", got.Enabled)
		}
	})
	t.Run("that are deleted leave routes and fallbacks", func(t *testing.T) {
		deleted, kept := createDestination(t, s, "deleted"), createDestination(t, s, "kept")
		r := createRoute(t, s, "two destinations", deleted.ID, kept.ID)
		must(change(t, kept.ID, func(d *notify.Destination) { d.Fallback = deleted.ID }))(t)
		check(t, s.DeleteDestination(t.Context(), deleted.ID))
		route := must(s.Route(t.Context(), r.ID))(t)
		if read := must(s.Destination(t.Context(), kept.ID))(t); !slices.Equal(route.Destinations, []string{kept.ID}) || read.Fallback != "" {
			t.Errorf("the route has %q, the fallback is %q", route.Destinations, read.Fallback)
		}
		requireCode(t, errorOf(s.Destination(t.Context(), deleted.ID)), routing.DestinationNotFound)
	})
	t.Run("that are deleted keep their deliveries until they are purged in batches", func(t *testing.T) {
		deleted, kept := createDestination(t, s, "with a history"), createDestination(t, s, "with its own")
		expectStored := func(d notify.Destination, deliveries, destinations int) {
			t.Helper()
			expectRows(t, db, `deliveries WHERE destination_id = $1`, deliveries, d.ID)
			expectRows(t, db, `destinations WHERE id = $1`, destinations, d.ID)
		}
		addNotices(t, db, deleted, 1100)
		addNotices(t, db, kept, 1)
		check(t, s.DeleteDestination(t.Context(), deleted.ID))
		expectStored(deleted, 1100, 1)
		leaseForDestinations(t, s)
		expectRows(t, db, `deliveries WHERE lease IS NOT NULL AND destination_id = $1`, 0, deleted.ID)
		expectLen(t, "listed deliveries", deliveries(t, s, monitors.DeliveryQuery{DestinationID: deleted.ID}), 0)
		requireCode(t, errorOf(change(t, kept.ID, func(d *notify.Destination) { d.Fallback = deleted.ID })), monitor.InvalidConfig)
		requireCode(t, errorOf(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "to a deleted destination", Destinations: []string{deleted.ID}})), monitor.InvalidConfig)
		createDestination(t, s, "with a history") // the name is free
		check(t, s.PurgeDestinations(t.Context()))
		expectStored(deleted, 0, 0)
		expectStored(kept, 1, 1)
	})
	t.Run("are listed by name", func(t *testing.T) {
		list := must(s.Destinations(t.Context()))(t)
		if !slices.IsSortedFunc(list, func(a, b routing.DestinationRecord) int { return strings.Compare(a.Name, b.Name) }) || len(list) < 5 {
			t.Errorf("%d are listed", len(list))
		}
	})
	t.Run("are limited", func(t *testing.T) {
		alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), 'many ' || n, 'email', 'en', '{}'
			FROM generate_series(1, $1 - (SELECT count(*) FROM destinations)) n`, routing.MaxDestinations-1)
		createDestination(t, s, "the last")
		requireCode(t, errorOf(s.CreateDestination(t.Context(), exampleDestination("one too many"))), monitor.InvalidConfig)
	})
}

func TestKeysOfSecretsAreReplaced(t *testing.T) {
	dsn := database(t)
	before, db := open(t, dsn), raw(t, dsn)
	d := createDestination(t, before, "rotated")
	key := func() string {
		t.Helper()
		return value[string](t, db, `SELECT split_part(convert_from(secrets, 'utf8'), '/', 1) FROM destinations WHERE id = $1`, d.ID)
	}
	both := openWithKey(t, dsn, reversing{first: "two", older: "one"})
	expect(t, "the secret by the older key", must(both.Destination(t.Context(), d.ID))(t).Secrets["bot_token"], "xoxb-secret")
	for range 2 {
		if err := both.ResealSecrets(t.Context()); err != nil || key() != "two" {
			t.Fatalf("the key is %s, the error %v", key(), err)
		}
	}

	// A key that is lost keeps a gateway from starting. If it runs, only the destination itself does not work.
	lost := openWithKey(t, dsn, reversing{first: "three"})
	if err := lost.ResealSecrets(t.Context()); err == nil || !postgres.IsPermanent(err) || !strings.Contains(err.Error(), "SECRETS_KEY") || key() != "two" {
		t.Errorf("the error of a lost key is %v, the key is %s", err, key())
	}
	list := must(lost.Destinations(t.Context()))(t)
	if len(list) != 1 || !strings.Contains(list[0].SecretsError, "SECRETS_KEY") || list[0].Secrets != nil {
		t.Errorf("the list is %+v", list)
	}
	expect(t, "destinations of the routing", len(must(lost.Routing(t.Context()))(t).Destinations), 1)
	renamed := must(lost.ChangeDestination(t.Context(), d.ID, func(d *notify.Destination) error { d.Name = "renamed"; return nil }))(t)
	if renamed.Name != "renamed" || key() != "two" {
		t.Errorf("a new name leaves the key %s of %+v", key(), renamed)
	}
	repaired := must(lost.ChangeDestination(t.Context(), d.ID, func(d *notify.Destination) error {
		d.Secrets = map[string]string{"bot_token": "again"}
		return nil
	}))(t)
	if repaired.SecretsError != "" || repaired.Secrets["bot_token"] != "again" || key() != "three" {
		t.Errorf("is %+v with the key %s", repaired, key())
	}
	err := errorOf(openWithKey(t, dsn, nil).CreateDestination(t.Context(), exampleDestination("without a key")))
	expectText(t, "the error", fmt.Sprint(err), "SECRETS_KEY")
}

func TestChangesAtOnceLoseNothing(t *testing.T) {
	const changes = 6
	s, db := newStore(t)
	d := createDestination(t, s, "shared")
	atOnce(t, 2*changes, func(i int) error {
		name := fmt.Sprint(i)
		if i%2 == 0 {
			return errorOf(s.ChangeDestination(t.Context(), d.ID, func(d *notify.Destination) error { d.Config[name] = name; return nil }))
		}
		return errorOf(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: name, Destinations: []string{d.ID}}))
	})
	expect(t, "fields of the config", len(must(s.Destination(t.Context(), d.ID))(t).Config), 1+changes)
	expect(t, "positions of routes", value[int](t, db, `SELECT count(DISTINCT position) FROM routes WHERE NOT is_default`), changes)
	expectLen(t, "the routing", must(s.Routing(t.Context()))(t).Routes, 1+changes)
}

func TestTrafficCountsTheDeliveriesOfADay(t *testing.T) {
	s, db := newStore(t)
	busy, idle := createDestination(t, s, "busy"), createDestination(t, s, "idle")
	addNotices(t, db, busy, 3)
	for _, outcome := range []delivery.Outcome{delivered(), delivered(), retried(time.Hour)} {
		alter(t, db, `UPDATE destinations SET tokens_at = now() - interval '1 hour'`)
		leased := leaseForDestinations(t, s)
		recordOutcome(t, s, leased[0], outcome)
		recordOutcome(t, s, leased[0], outcome) // the answer to the first was lost
	}
	alter(t, db, `INSERT INTO destination_hours (destination_id, hour, delivered, failed)
		SELECT destination_id, hour - make_interval(hours => ago), ago, 1 FROM destination_hours, unnest(ARRAY[1, 23, 24, 60]) AS ago`)
	const insert = `INSERT INTO deliveries (id, destination_id, state, due_at, tried, created_at) VALUES (gen_random_uuid(), $1, 'pending', now() + make_interval(mins => $2), $3, now())`
	alter(t, db, insert, busy.ID, -1, 0)
	alter(t, db, insert, busy.ID, 10, 0) // it waits for its escalation
	traffic := must(s.Traffic(t.Context()))(t)
	var want routing.Traffic
	want.Pending, want.Delivered[23], want.Failed[23] = 2, 2, 1
	want.Delivered[22], want.Failed[22], want.Delivered[0], want.Failed[0] = 1, 1, 23, 1
	if traffic[busy.ID] != want || traffic[idle.ID] != (routing.Traffic{}) {
		t.Errorf("the traffic is %+v", traffic)
	}
	check(t, s.PurgeDestinations(t.Context()))
	expectRows(t, db, `destination_hours`, 4)
}

func TestRoutes(t *testing.T) {
	s := open(t, database(t))
	d := createDestination(t, s, "people")
	names := func(routes []notify.Route) string {
		var names []string
		for _, r := range routes {
			names = append(names, r.Name)
		}
		return strings.Join(names, " ")
	}
	first := must(s.Routes(t.Context()))(t)
	if len(first) != 1 || !first[0].Default || len(first[0].Destinations) != 0 {
		t.Fatalf("a new database has the routes %+v", first)
	}
	byDefault := first[0].ID

	t.Run("are read as they were stored", func(t *testing.T) {
		r := notify.Route{
			ID: newID(), Name: "all-fields", Destinations: []string{d.ID}, DelaySec: 600, RepeatSec: 3600, Continue: true, Owner: "a.yaml",
			Match: notify.Match{Monitors: []monitor.ID{"mon-1"}, MinSeverity: 4, Metadata: map[string]string{"channel_name": "<配信>"}},
		}
		must(s.CreateRoute(t.Context(), r))(t)
		got := must(s.CreateRoute(t.Context(), r))(t) // repeated
		if got.Name != r.Name || !slices.Equal(got.Destinations, r.Destinations) || got.DelaySec != r.DelaySec || got.RepeatSec != r.RepeatSec || !got.Continue || got.Owner != r.Owner ||
			got.Match.MinSeverity != 4 || got.Match.Metadata["channel_name"] != "<配信>" || !slices.Equal(got.Match.Monitors, r.Match.Monitors) || got.Default {
			t.Errorf("is %+v", got)
		}
	})
	t.Run("follow each other, the default route last", func(t *testing.T) {
		b, c := createRoute(t, s, "b", d.ID), createRoute(t, s, "c")
		routes := must(s.Routes(t.Context()))(t)
		expect(t, "the order", names(routes), "all-fields b c default")
		a := routes[0].ID
		expect(t, "the order", names(must(s.OrderRoutes(t.Context(), []string{c.ID, a, b.ID}))(t)), "c all-fields b default")
		for what, wrong := range map[string][]string{
			"lacks one": {a, b.ID}, "has one twice": {a, b.ID, c.ID, a}, "has the default route": {a, b.ID, c.ID, byDefault}, "has no id": {a, b.ID, "c"},
		} {
			t.Run("an order that "+what, func(t *testing.T) { requireCode(t, errorOf(s.OrderRoutes(t.Context(), wrong)), monitor.InvalidConfig) })
		}
		check(t, errors.Join(s.DeleteRoute(t.Context(), c.ID), s.DeleteRoute(t.Context(), c.ID)))
		expect(t, "the order", names(must(s.Routes(t.Context()))(t)), "all-fields b default")
	})
	t.Run("are changed", func(t *testing.T) {
		got := must(s.ChangeRoute(t.Context(), byDefault, func(r *notify.Route) error {
			r.ID, r.Default, r.Destinations = newID(), false, []string{d.ID}
			return nil
		}))(t)
		if got.ID != byDefault || !got.Default || !slices.Equal(got.Destinations, []string{d.ID}) {
			t.Errorf("is %+v", got)
		}
	})
	t.Run("are refused", func(t *testing.T) {
		requireCode(t, s.DeleteRoute(t.Context(), byDefault), monitor.InvalidConfig)
		for _, unknown := range []string{newID(), "no id", "\x00"} {
			err := errorOf(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "unknown", Destinations: []string{d.ID, unknown}}))
			expectText(t, "the message", requireCode(t, err, monitor.InvalidConfig).Message, "destinations")
		}
		requireCode(t, errorOf(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "default"})), monitor.NameTaken)
		requireCode(t, errorOf(s.Route(t.Context(), "no id")), routing.RouteNotFound)
	})
}

func TestSilences(t *testing.T) {
	s := open(t, database(t))
	change := func(id string, to time.Time) (notify.Silence, error) {
		return s.ChangeSilence(t.Context(), id, func(s *notify.Silence) error { s.ID, s.EndsAt = newID(), to; return nil })
	}
	if now := must(s.CurrentTime(t.Context()))(t); time.Since(now).Abs() > time.Minute {
		t.Errorf("the time is %v", now)
	}
	weekly := weekly()
	weekly.EndsAt, weekly.Owner, weekly.UntilRecovered = time.Now().Add(time.Hour).Truncate(time.Microsecond), "a.yaml", true
	must(s.CreateSilence(t.Context(), weekly))(t)
	got := must(s.CreateSilence(t.Context(), weekly))(t) // repeated
	if got.CreatedBy != weekly.CreatedBy || got.Comment != weekly.Comment || got.Owner != weekly.Owner || !got.UntilRecovered || !got.StartsAt.Equal(noon) || !got.EndsAt.Equal(weekly.EndsAt) ||
		got.Match.Metadata["labels.team"] != "a" || got.Window.Timezone != "Asia/Tokyo" || got.Window.Zone == nil || !slices.Equal(got.Window.Weekdays, weekly.Window.Weekdays) || !got.EndedAt.IsZero() {
		t.Errorf("is %+v", got)
	}

	lasting := must(s.CreateSilence(t.Context(), silence()))(t)
	later := noon.Add(1000 * 24 * time.Hour)
	if got := must(change(lasting.ID, later))(t); got.ID != lasting.ID || !got.EndsAt.Equal(later) || got.Window != nil {
		t.Errorf("is %+v", got)
	}
	ended := must(s.EndSilence(t.Context(), lasting.ID))(t)
	again := must(s.EndSilence(t.Context(), lasting.ID))(t)
	if time.Since(ended.EndedAt).Abs() > time.Minute || !again.EndedAt.Equal(ended.EndedAt) {
		t.Errorf("ended at %v, then at %v", ended.EndedAt, again.EndedAt)
	}
	requireCode(t, errorOf(change(lasting.ID, later)), monitor.InvalidConfig)

	over := silence()
	over.EndsAt = time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	if got := must(s.CreateSilence(t.Context(), over))(t); !got.EndedAt.Equal(over.EndsAt) {
		t.Errorf("a silence until %v ended at %v", over.EndsAt, got.EndedAt)
	}

	list := must(s.Silences(t.Context()))(t)
	if len(list) != 3 || list[0].ID != over.ID || list[2].ID != weekly.ID {
		t.Errorf("the list is %+v", list)
	}
	for _, id := range []string{newID(), "no id"} {
		requireCode(t, errorOf(s.Silence(t.Context(), id)), routing.SilenceNotFound)
		requireCode(t, errorOf(s.EndSilence(t.Context(), id)), routing.SilenceNotFound)
		requireCode(t, errorOf(change(id, later)), routing.SilenceNotFound)
	}
}

func TestARoutingIsReadOnceAVersion(t *testing.T) {
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	read := func() notify.Routing { t.Helper(); return must(s.Routing(t.Context()))(t) }
	if before := read(); len(before.Routes) != 1 || len(before.Destinations) != 0 || len(before.Silences) != 0 {
		t.Errorf("a new database has the routing %+v", before)
	}

	// A change that bypasses the version stays unseen, so the cache has answered.
	alter(t, db, `UPDATE routes SET name = 'renamed'`)
	expect(t, "the cached route", read().Routes[0].Name, "default")
	alter(t, db, `UPDATE routes SET name = 'default'`)

	ctx := t.Context()
	var d notify.Destination
	var first, second notify.Route
	var silenced notify.Silence
	for _, c := range []struct {
		what   string
		change func() error
	}{
		{"a destination is created", func() error { d = createDestination(t, other, "d"); return nil }},
		{"a route is created", func() error { first = createRoute(t, other, "first", d.ID); return nil }},
		{"another is created", func() error { second = createRoute(t, other, "second"); return nil }},
		{"a silence is created", func() (err error) { silenced, err = other.CreateSilence(ctx, weekly()); return err }},
		{"a destination is changed", func() error {
			return errorOf(other.ChangeDestination(ctx, d.ID, func(d *notify.Destination) error { d.Enabled = false; return nil }))
		}},
		{"a route is changed", func() error {
			return errorOf(other.ChangeRoute(ctx, first.ID, func(r *notify.Route) error { r.DelaySec = 60; return nil }))
		}},
		{"a silence is changed", func() error {
			return errorOf(other.ChangeSilence(ctx, silenced.ID, func(s *notify.Silence) error { s.CreatedBy = "Ken"; return nil }))
		}},
		{"routes are ordered", func() error { return errorOf(other.OrderRoutes(ctx, []string{second.ID, first.ID})) }},
		{"a silence is ended", func() error { return errorOf(other.EndSilence(ctx, silenced.ID)) }},
		{"a route is deleted", func() error { return other.DeleteRoute(ctx, first.ID) }},
		{"a destination is deleted", func() error { return other.DeleteDestination(ctx, d.ID) }},
	} {
		before := read()
		if err := c.change(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		fresh := must(open(t, dsn).Routing(ctx))(t)
		if after := read(); after.Version <= before.Version || reflect.DeepEqual(after.Routes, before.Routes) && reflect.DeepEqual(after.Destinations, before.Destinations) &&
			reflect.DeepEqual(after.Silences, before.Silences) || !reflect.DeepEqual(after, fresh) {
			t.Errorf("after %s the routing is %+v, want %+v", c.what, after, fresh)
		}
	}

	alter(t, db, `INSERT INTO routes (id, name, position, match, destinations) VALUES (gen_random_uuid(), 'damaged', 1, '[]', '{}')`)
	alter(t, db, `UPDATE routing_version SET version = version + 1`)
	expectLen(t, "routes beside one that cannot be read", read().Routes, 2)
}

func TestARowThatCannotBeReadIsLeftOutOfListsAndCanBeDeleted(t *testing.T) {
	s, db := newStore(t)
	ctx := t.Context()
	d, r := addDestination(t, s, notify.Ntfy, "damaged"), createRoute(t, s, "damaged")
	silenced := must(s.CreateSilence(ctx, silence()))(t)
	alter(t, db, `UPDATE destinations SET config = '[]'`)
	alter(t, db, `UPDATE routes SET match = '[]' WHERE NOT is_default`)
	alter(t, db, `UPDATE silences SET match = '[]'`)
	for range 2 { // the second time they are deleted
		expectLen(t, "destinations", must(s.Destinations(ctx))(t), 0)
		expectLen(t, "routes", must(s.Routes(ctx))(t), 1)
		expectLen(t, "silences", must(s.Silences(ctx))(t), 0)
		check(t, errors.Join(errorOf(s.EndSilence(ctx, silenced.ID)), s.DeleteRoute(ctx, r.ID), s.DeleteDestination(ctx, d.ID)))
	}
	expectRows(t, db, "routes", 1)
	expectRows(t, db, "destinations WHERE deleted_at IS NULL", 0)
	expectRows(t, db, "silences WHERE ended_at IS NULL", 0)
}
