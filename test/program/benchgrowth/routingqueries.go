package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func destinations(s *sample) []query {
	var id string
	create := func(ctx context.Context, st *postgres.Store) error {
		id = newID()
		_, err := st.CreateDestination(ctx, notify.Destination{
			ID: id, Name: id, Kind: notify.Webhook, Language: notify.English, Enabled: true, Secrets: map[string]string{"url": "https://example.com/events", "signing_key": "key"},
		})
		return err
	}
	remove := func(ctx context.Context, st *postgres.Store) error { return st.DeleteDestination(ctx, id) }
	change := func(d *notify.Destination) error { d.Name = "destination " + newID(); return nil }
	return []query{
		{"DestinationStore.Destinations", "destinations", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Destinations(ctx); return err }},
		{"DestinationStore.Destination", "a destination", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Destination(ctx, s.webhookID)
			return err
		}},
		{"DestinationStore.Traffic", "attempts and backlogs of destinations", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Traffic(ctx); return err }},
		{"DestinationStore.CreateDestination", "a new destination", nil, create},
		{"DestinationStore.ChangeDestination", "another name of a destination", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ChangeDestination(ctx, s.webhookID, change)
			return err
		}},
		{"DestinationStore.DeleteDestination", "a destination that is deleted", create, remove},
		{"DestinationStore.PurgeDestinations", "what is left of a deleted destination", func(ctx context.Context, st *postgres.Store) error {
			if err := create(ctx, st); err != nil {
				return err
			}
			// It takes 1000 deliveries of another one.
			return errors.Join(remove(ctx, st), s.exec(ctx, `
				UPDATE deliveries SET destination_id = $1, sequence = NULL, event_id = NULL
				WHERE id IN (SELECT id FROM deliveries WHERE sequence IS NOT NULL AND destination_id <> $2 ORDER BY created_at LIMIT 1000)`, id, s.webhookID))
		}, func(ctx context.Context, st *postgres.Store) error { return st.PurgeDestinations(ctx) }},
		{"DestinationStore.ResealSecrets", "secrets of another key", s.prepared(`UPDATE destinations SET secrets = convert_to(' ', 'UTF8') || secrets WHERE id = '` + s.chatID + `'`),
			func(ctx context.Context, st *postgres.Store) error { return st.ResealSecrets(ctx) }},
	}
}

func routes(s *sample) []query {
	var id string
	create := func(ctx context.Context, st *postgres.Store) error {
		id = newID()
		_, err := st.CreateRoute(ctx, notify.Route{ID: id, Name: id, Match: notify.Match{Metadata: map[string]string{"operator": "nobody"}}, Destinations: []string{s.webhookID}})
		return err
	}
	remove := func(ctx context.Context, st *postgres.Store) error { return st.DeleteRoute(ctx, id) }
	return []query{
		{"RouteStore.Routes", "routes", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Routes(ctx); return err }},
		{"RouteStore.Route", "a route", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Route(ctx, s.routeID); return err }},
		{"RouteStore.OrderRoutes", "another order of routes", nil, func(ctx context.Context, st *postgres.Store) error {
			slices.Reverse(s.routeIDs)
			_, err := st.OrderRoutes(ctx, s.routeIDs)
			return err
		}},
		{"RouteStore.ChangeRoute", "another delay of a route", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ChangeRoute(ctx, s.routeIDs[0], func(r *notify.Route) error { r.DelaySec++; return nil })
			return err
		}},
		{"RouteStore.CreateRoute", "a new route", func(ctx context.Context, st *postgres.Store) error {
			if id == "" {
				return nil
			}
			return remove(ctx, st)
		}, create},
		{"RouteStore.DeleteRoute", "a route that is deleted", func(ctx context.Context, st *postgres.Store) error {
			return errors.Join(remove(ctx, st), create(ctx, st)) // that of the query before
		}, remove},
	}
}

func silences(s *sample) []query {
	var id string
	create := func(ctx context.Context, st *postgres.Store) error {
		id = newID()
		_, err := st.CreateSilence(ctx, notify.Silence{ID: id, Match: notify.Match{Monitors: []monitor.ID{"mon-none"}}, StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour), CreatedBy: "ann"})
		return err
	}
	return []query{
		{"SilenceStore.Silences", "silences", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Silences(ctx); return err }},
		{"SilenceStore.Silence", "a silence", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Silence(ctx, s.silenceID)
			return err
		}},
		{"SilenceStore.CurrentTime", "the time", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.CurrentTime(ctx); return err }},
		{"SilenceStore.CreateSilence", "a new silence", nil, create},
		{"SilenceStore.ChangeSilence", "another comment of a silence", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ChangeSilence(ctx, s.silenceID, func(silence *notify.Silence) error { silence.Comment = newID(); return nil })
			return err
		}},
		{"SilenceStore.EndSilence", "a silence that is ended", create, func(ctx context.Context, st *postgres.Store) error { _, err := st.EndSilence(ctx, id); return err }},
	}
}

// keys are the API keys, and the audit list of what they did.
func keys(s *sample) []query {
	var id string
	create := func(ctx context.Context, st *postgres.Store) error {
		id = newID()
		return st.CreateKey(ctx, keyring.StoredKey{Key: access.Key{ID: id, Name: id, Role: access.Operator, CreatedBy: "ann", CreatedAt: time.Now().UTC()}, Digest: newDigest()})
	}
	var seq int64
	begin := func(ctx context.Context, st *postgres.Store) (err error) {
		seq, err = st.BeginEntry(ctx, keyring.Entry{KeyID: s.keyID, KeyName: "ann", Action: "monitor.stop", Objects: []string{"mon-none"}, Client: "192.0.2.1"})
		return err
	}
	finish := func(status int) call {
		return func(ctx context.Context, st *postgres.Store) error {
			return st.FinishEntry(ctx, seq, []string{"mon-none"}, status)
		}
	}
	return []query{
		{"KeyStore.Keys", "keys", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Keys(ctx); return err }},
		{"KeyStore.CreateKey", "a new key", nil, create},
		{"KeyStore.MarkKeyUsed", "the use of a key", nil, func(ctx context.Context, st *postgres.Store) error { return st.MarkKeyUsed(ctx, s.keyID, time.Now()) }},
		{"KeyStore.RevokeKey", "a key that is revoked", create, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.RevokeKey(ctx, id, time.Now())
			return err
		}},
		{"AuditStore.BeginEntry", "an audit entry", nil, begin},
		{"AuditStore.FinishEntry", "the result of an audit entry", begin, finish(200)},
		{"AuditStore.FinishEntry", "an audit entry of nothing", begin, finish(0)},
		{"AuditStore.Entries", "audit entries", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Entries(ctx, 0, 100); return err }},
		{"AuditStore.Entries", "audit entries, a page by cursor", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Entries(ctx, 50_000, 100)
			return err
		}},
		{"AuditStore.DeleteEntries", "audit entries that expire", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DeleteEntries(ctx, 70*day, 100)
			return err
		}},
	}
}
