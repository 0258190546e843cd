package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	day  = 24 * time.Hour
	page = 51 // rows
)

// call is a call of the store whose statements are explained.
type call struct {
	name   string
	before func() error // prepares the call; nil: nothing
	do     func() error
}

// errorOf and errorOf3 return the error of a call.
func errorOf[T any](_ T, err error) error          { return err }
func errorOf3[T, U any](_ T, _ U, err error) error { return err }

// errorOfSome is the error of a call that must return something.
func errorOfSome[T any](all []T, err error) error {
	if err == nil && len(all) == 0 {
		return errors.New("nothing is due")
	}
	return err
}

// inTurn calls all until one fails.
func inTurn(all ...func() error) func() error {
	return func() error {
		for _, do := range all {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
}

// calls are nearly all calls of the store, as the parts of a gateway make them.
func (s *sample) calls(ctx context.Context, st *postgres.Store) []call {
	return slices.Concat(s.monitorCalls(ctx, st), s.supervisorCalls(ctx, st), s.incidentCalls(ctx, st), s.evidenceCalls(ctx, st), s.historyCalls(ctx, st),
		s.feedCalls(ctx, st), s.eventCalls(ctx, st), s.outboxCalls(ctx, st), s.notificationCalls(ctx, st), s.accessCalls(ctx, st))
}

func (s *sample) monitorCalls(ctx context.Context, st *postgres.Store) []call {
	list := func(name string, q monitors.MonitorQuery) call {
		q.Limit = page
		return call{name, nil, func() error { return errorOf3(st.List(ctx, q)) }}
	}
	const most = 1_000_000 // monitors
	var key monitors.IdempotencyKey
	newKey := func() error { key = monitors.IdempotencyKey{Key: newDigest(), Request: newDigest()}; return nil }
	insert := func() error { return errorOf(st.InsertIdempotent(ctx, newMonitor(), most, key)) }
	changed := monitor.Monitor{Config: monitor.DefaultConfig(), CallbackURL: "https://example.com/other"}
	return []call{
		list("monitors", monitors.MonitorQuery{}),
		list("monitors, offset 50,000", monitors.MonitorQuery{Offset: 50_000}),
		list("monitors, a page by cursor", monitors.MonitorQuery{Before: 50_000}),
		list("monitors that are completed", monitors.MonitorQuery{Status: monitor.Completed}),
		list("monitors that are monitoring", monitors.MonitorQuery{Status: monitor.Monitoring}),
		list("monitors that wait", monitors.MonitorQuery{Status: monitor.Waiting}),
		list("monitors in trouble", monitors.MonitorQuery{Trouble: true}),
		list("monitors that are blind", monitors.MonitorQuery{Blind: true}),
		list("monitors that are live", monitors.MonitorQuery{Live: true}),
		list("monitors with a text", monitors.MonitorQuery{Text: "channel 77"}),
		{"a monitor", nil, func() error { return errorOf(st.Get(ctx, s.monitorID)) }},
		{"which of some streams are watched", nil, func() error {
			return errorOf3(st.ActiveStreams(ctx, []monitor.StreamURL{s.streamURL, "https://www.youtube.com/watch?v=none"}))
		}},
		{"a registration", nil, func() error { return st.Insert(ctx, newMonitor(), most) }},
		{"a registration that may be repeated", newKey, insert},
		{"a registration that was repeated", inTurn(newKey, insert), func() error { return errorOf(st.FindIdempotent(ctx, key.Key)) }},
		{"other settings of a monitor", func() error { changed.ID = s.nextWatched(); return nil }, func() error { return errorOf(st.UpdateSettings(ctx, changed, time.Time{})) }},
		{"the end of a monitor", nil, func() error {
			return errorOf(st.End(ctx, s.nextWatched(), monitor.Stopped, "", nil, time.Now().UTC()))
		}},
	}
}

// supervisorCalls are what gateways do for workers, for reservations and for one another, and what
// workers report.
func (s *sample) supervisorCalls(ctx context.Context, st *postgres.Store) []call {
	var watched monitor.Monitor
	get := func() (err error) {
		watched, err = st.Get(ctx, s.nextWatched())
		return err
	}
	failure := func(terminal bool) event.Event {
		return event.Event{ID: newID(), Type: event.MonitorError, At: time.Now().UTC(), Data: event.MonitorFailure{Reason: "bench", ErrorDetails: "the details", Terminal: terminal}}
	}
	due := s.statement(ctx, `UPDATE monitors SET reserved_until = now() - interval '1 s' WHERE id IN (SELECT id FROM monitors WHERE status = 'waiting' ORDER BY seq LIMIT 5)`)
	var claimed []supervisor.Reservation
	claim := func() (err error) {
		claimed, _, err = st.ClaimDue(ctx, time.Minute)
		return errorOfSome(claimed, err)
	}
	accept := func(r monitor.Report) error { return errorOf(st.Accept(ctx, s.monitorID, r)) }
	health := monitor.Black
	return []call{
		{"active monitors, every 5 s", nil, func() error { return errorOf(st.ListActive(ctx)) }},
		{"the next generation of a worker", nil, func() error { return errorOf(st.AdvanceGeneration(ctx, s.nextWatched(), 1, "bench")) }},
		{"an event about a monitor", get, func() error { return st.AddEvent(ctx, watched, failure(false)) }},
		{"a monitor that fails", get, func() error { return st.Fail(ctx, watched, "bench", failure(true)) }},
		{"reservations that are due, none is", nil, func() error { return errorOf3(st.ClaimDue(ctx, time.Minute)) }},
		{"reservations that are due", due, claim},
		{"a reservation that gets a worker", inTurn(due, claim), func() error { return errorOf(st.Promote(ctx, claimed[0], "bench")) }},
		{"monitors that a gateway releases", nil, func() error {
			var held []supervisor.Reservation
			for range 5 {
				held = append(held, supervisor.Reservation{ID: s.nextWatched(), Generation: 1})
			}
			return st.Release(ctx, held)
		}},
		{"a report", nil, func() error { return accept(newReport()) }},
		{"a report with an event", nil, func() error { return accept(newReport(newBlackout())) }},
		{"a report with another health and a minute", nil, func() error {
			r := newReport()
			r.Health.Video, health = health, r.Health.Video
			r.Minutes = []monitor.Minute{{At: r.At.Truncate(time.Minute), Since: r.At, Luma: monitor.Range{Min: 16, Mean: 100, Max: 235, N: 60}}}
			return accept(r)
		}},
		{"a report of a worker that sees again", nil, func() error {
			r := newReport(event.Event{ID: newID(), Type: event.MonitorError, At: time.Now().UTC(), Data: event.MonitorFailure{Reason: event.ReasonBlind, ErrorDetails: "no route"}})
			r.Visibility = &monitor.Visibility{LastObservedAt: r.At}
			return accept(r)
		}},
		{"parked monitors, of which there are none", nil, func() error { return st.RetryRecords(ctx) }},
		{"the election of a leader", nil, func() error { return errorOf(st.TryLead(ctx)) }},
		{"a heartbeat of a gateway", nil, func() error { return errorOf(st.Heartbeat(ctx, "bench")) }},
		{"a gateway that leaves", nil, func() error { return st.Leave(ctx, "bench") }},
	}
}

func (s *sample) incidentCalls(ctx context.Context, st *postgres.Store) []call {
	list := func(name string, f incidents.Filter) call {
		f.Limit = page
		return call{name, nil, func() error { return errorOf(st.ListIncidents(ctx, f)) }}
	}
	act := func(kind incident.EntryKind, text string) func() error {
		return func() error {
			return errorOf(st.ActOnIncident(ctx, s.incidentID, incidents.Action{OpID: newID(), Kind: kind, By: "ann", Text: text}))
		}
	}
	sweep := func() error { return errorOf(st.SweepIncidents(ctx, 25)) }
	var other string // an open incident
	return []call{
		list("incidents", incidents.Filter{}),
		list("incidents, a page by cursor", incidents.Filter{Before: 1000}),
		list("incidents that are open", incidents.Filter{State: incident.Open}),
		list("incidents that are resolved", incidents.Filter{State: incident.Resolved}),
		list("incidents that are severe", incidents.Filter{MinSeverity: 2}),
		list("incidents of a monitor", incidents.Filter{MonitorID: s.monitorID}),
		list("incidents with a condition", incidents.Filter{Condition: "black"}),
		list("incidents with a condition that is rare", incidents.Filter{Condition: "late"}),
		list("incidents of the last day", incidents.Filter{From: time.Now().Add(-day)}),
		list("incidents before a month ago", incidents.Filter{To: time.Now().AddDate(0, -1, 0)}),
		{"an incident", nil, func() error { return errorOf3(st.GetIncident(ctx, s.incidentID)) }},
		{"a note at an incident", nil, act(incident.Noted, "the encoder hangs")},
		{"an incident that is acknowledged", nil, act(incident.Acknowledged, "")},
		{"incidents that time changes, every 2 s", nil, sweep},
		{"incidents that time changes, 25 are due", s.statement(ctx, `UPDATE incidents SET due_at = now() WHERE id IN (SELECT id FROM incidents WHERE state = 'open' ORDER BY seq LIMIT 25)`), sweep},
		{"incidents whose end was lost", nil, func() error { return errorOf(st.WatchedIncidents(ctx, s.firstSeq, 100)) }},
		{"an incident whose end is made up for", func() error {
			return s.db.QueryRowContext(ctx, `SELECT id FROM incidents WHERE monitor_id = $1 AND state = 'open'`, s.nextWatched()).Scan(&other)
		}, func() error {
			now := time.Now().UTC()
			return errorOf(st.EndConditions(ctx, other, []incident.Good{{Condition: "silent", Since: now.Add(-time.Minute), At: now}}))
		}},
		{"where an event goes", nil, func() error { return errorOf(st.EventSubject(ctx, s.eventID)) }},
		{"where an incident goes", nil, func() error { return errorOf(st.IncidentSubject(ctx, s.incidentID)) }},
		{"where the open incidents go", nil, func() error { return errorOf(st.OpenSubjects(ctx)) }},
		{"the routing", nil, func() error { return errorOf(st.Routing(ctx)) }},
		{"a storm", nil, func() error { return errorOf(st.Storm(ctx, s.stormID)) }},
	}
}

func (s *sample) evidenceCalls(ctx context.Context, st *postgres.Store) []call {
	var file evidence.File
	reserve := func() error {
		file = evidence.File{Variant: evidence.Onset, Digest: newDigest(), Size: 100, Width: 640, Height: 360, TakenAt: time.Now().UTC()}
		return st.ReserveBlob(ctx, s.monitorID, 1, file)
	}
	list := func(name string, f evidences.Filter) call {
		f.Limit = page
		return call{name, nil, func() error { return errorOf(st.ListEvidence(ctx, f)) }}
	}
	orphans := s.statement(ctx, `INSERT INTO evidence_blobs (sha256, size, reserved_at) SELECT sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 100, now() - interval '2 h' FROM generate_series(1, 10)`)
	var claimed []evidence.Digest
	claim := func() (err error) {
		claimed, err = st.ClaimOrphanedBlobs(ctx, time.Hour, 100)
		return errorOfSome(claimed, err)
	}
	expired := func(age time.Duration) func() error {
		return func() error { return errorOf(st.DeleteExpiredEvidence(ctx, evidence.Normal, age, 100)) }
	}
	var stored evidence.Digest
	put := func() error {
		picture := []byte(newID())
		stored = sha256.Sum256(picture)
		return st.BlobStore().Put(ctx, evidences.NewContent(stored, int64(len(picture)), bytes.NewReader(picture)))
	}
	picture := bytes.Repeat([]byte{1}, 10_000)
	return []call{
		{"an upload of a picture", nil, reserve},
		{"evidence with a picture", inTurn(s.statement(ctx, `DELETE FROM evidence WHERE event_id = $1 AND id <> $2`, s.eventID, s.evidenceID), reserve), func() error { // an event has room for two records
			return errorOf(st.AddEvidence(ctx, 1, evidence.Record{
				ID: evidence.ID(newID()), MonitorID: s.monitorID, EventID: s.eventID, Condition: "black", Phase: evidence.AlertPhase,
				Class: evidence.Normal, CreatedAt: time.Now().UTC(), Files: []evidence.File{file},
			}))
		}},
		{"another class of evidence", nil, func() error { return errorOf(st.SetEvidenceClass(ctx, evidence.ID(s.evidenceID), evidence.Case)) }},
		{"evidence", nil, func() error { return errorOf(st.Evidence(ctx, evidence.ID(s.evidenceID))) }},
		list("evidence of all monitors", evidences.Filter{}),
		list("evidence of a monitor", evidences.Filter{MonitorID: s.monitorID}),
		list("evidence of an incident", evidences.Filter{IncidentID: s.evidenceIncidentID}),
		list("evidence of an event", evidences.Filter{EventID: s.eventID}),
		{"the alert of a recovery", nil, func() error { return errorOf(st.AlertOf(ctx, s.recoveryID, "alert.blackout")) }},
		{"evidence of severe incidents", nil, func() error { return errorOf(st.QuarantineSevereEvidence(ctx, 100)) }},
		{"evidence that expires", nil, expired(14 * day)},
		{"evidence that expires, none does", nil, expired(365 * day)},
		{"blobs without evidence", orphans, claim},
		{"blobs that were deleted", inTurn(orphans, claim), func() error { return st.ForgetBlobs(ctx, claimed) }},
		{"blobs that the store has", nil, func() error { return errorOf(st.AdoptBlobs(ctx, []evidence.Digest{s.blob, newDigest()})) }},
		{"a blob that is stored", nil, put},
		{"a blob that is read", put, func() error { return errorOf(st.BlobStore().Open(ctx, stored, 0)) }},
		{"a blob that is deleted", put, func() error { return st.BlobStore().Delete(ctx, stored) }},
		{"a page of blobs", nil, func() error { return errorOf(st.BlobStore().List(ctx, stored, 1000)) }},
		{"uploads that were cut", nil, func() error { return errorOf(st.BlobStore().DeletePartial(ctx, time.Hour)) }},
		{"a page that shows thumbnails", nil, func() error {
			return st.LeaseThumbnails(ctx, []monitor.ID{s.monitorID, monitor.ID(s.watched[0])}, time.Minute)
		}},
		{"a thumbnail", nil, func() error {
			return errorOf(st.PutThumbnail(ctx, evidences.Thumbnail{MonitorID: s.monitorID, TakenAt: time.Now(), JPEG: picture}, 1))
		}},
		{"a thumbnail that is read", nil, func() error { return errorOf(st.GetThumbnail(ctx, s.monitorID)) }},
		{"thumbnails that are old", nil, func() error { return st.DeleteThumbnails(ctx, time.Hour) }},
	}
}

// historyCalls are those of timelines and statistics, and what the leader deletes.
func (s *sample) historyCalls(ctx context.Context, st *postgres.Store) []call {
	visitor := histories.Visitor{Begin: func(histories.MonitorLife) {}, Span: func(history.Span) {}, Minute: func(monitor.Minute) {}}
	timeline := func(name string, age, width time.Duration) call {
		return call{name, nil, func() error {
			return st.MonitorHistory(ctx, s.monitorID, time.Now().Add(-age), time.Now(), width, visitor)
		}}
	}
	sum := func(id monitor.ID) func() error {
		return func() error {
			now := time.Now()
			return st.SumHistory(ctx, id, now, history.NewSummary([]history.Period{{From: now.Add(-30 * day), To: now}}))
		}
	}
	expired := func(age time.Duration) func() error {
		return func() error { return errorOf3(st.DeleteHistory(ctx, time.Now().Add(-age), 1000)) }
	}
	expiring := func(age time.Duration) func() error {
		return func() error { return errorOf(st.ExpiringMonitors(ctx, age, histories.EndedMonitor{}, 100)) }
	}
	var id monitor.ID
	ended := func() error { id = s.nextEnded(); return nil }
	remove := func() error { return st.DeleteMonitor(ctx, id) }
	return []call{
		timeline("a timeline of an hour", time.Hour, time.Minute),
		timeline("a timeline of a day", day, 5*time.Minute),
		timeline("a timeline of a month", 30*day, 30*time.Minute),
		{"statistics of a monitor, a month", nil, sum(s.monitorID)},
		{"statistics of all monitors, a month", nil, sum("")},
		{"broadcasts of a monitor", nil, func() error { return errorOf(st.Broadcasts(ctx, s.monitorID)) }},
		{
			"minutes that are merged, ten of some monitors",
			s.statement(ctx, `DELETE FROM history_ten_minutes WHERE begins >= (SELECT until FROM history_merged) - interval '10 minutes'; UPDATE history_merged SET monitor_id = '', until = (
				SELECT minute FROM history_minutes GROUP BY minute ORDER BY count(*) DESC, minute LIMIT 1)`),
			func() error { return errorOf(st.MergeMinutes(ctx, history.SettledBefore(time.Now()))) },
		},
		{"history that expires", nil, expired(29 * day)},
		{"history that expires, none does", nil, expired(365 * day)},
		{"monitors whose events expire, none do", nil, expiring(90 * day)},
		{"monitors whose events expire", nil, expiring(time.Hour)},
		{"events that expire", ended, func() error { return errorOf(st.DeleteEvents(ctx, id, 10*day, 1000)) }},
		{"incidents that expire", ended, func() error { return errorOf3(st.DeleteIncidents(ctx, id, 0, 1000)) }},
		{"silences, storms and notices that expire", nil, func() error { return errorOf(st.DeleteNotifications(ctx, 90*day, 1000)) }},
		{"a monitor that has events", ended, remove},
		{"a monitor that has none", inTurn(ended, func() error {
			return s.statement(ctx, `
				WITH events AS (DELETE FROM monitor_events WHERE monitor_id = $1),
				     evidence AS (DELETE FROM evidence WHERE monitor_id = $1)
				DELETE FROM incidents WHERE monitor_id = $1`, id)()
		}), remove},
	}
}

func (s *sample) feedCalls(ctx context.Context, st *postgres.Store) []call {
	number := func() error { return errorOf(st.NumberFeed(ctx)) }
	return []call{
		{"state for the feed", nil, func() error { return errorOf3(st.ReadState(ctx)) }},
		{"the inbox of the feed, when it is empty", nil, number},
		{"versions for 100 changes", s.statement(ctx, `INSERT INTO feed_inbox (type, id) SELECT 'monitor.updated', id FROM monitors ORDER BY seq LIMIT 100`), number},
		{"entries of the feed", nil, func() error { return errorOf(st.ReadFeed(ctx, 90_000, 100)) }},
		{"state of the workers, every 5 s", nil, func() error { return errorOf(st.ReadChecker(ctx)) }},
		{"the epoch of the feed", nil, func() error { return st.RenewFeedEpoch(ctx) }},
		{"entries of the feed that expire", nil, func() error { return errorOf3(st.DeleteFeed(ctx, 3*day)) }},
	}
}

func (s *sample) eventCalls(ctx context.Context, st *postgres.Store) []call {
	list := func(name string, q monitors.DeliveryQuery) call {
		q.Limit = page
		return call{name, nil, func() error { return errorOf(st.Deliveries(ctx, q)) }}
	}
	monthAgo := monitors.DeliveryPlace{CreatedAt: time.Now().AddDate(0, -1, 0), ID: "00000000-0000-7000-8000-000000000000"}
	return []call{
		{"events of a monitor", nil, func() error { return errorOf3(st.Events(ctx, s.monitorID, 50, 0)) }},
		{"events of a monitor, offset 50", nil, func() error { return errorOf3(st.Events(ctx, s.monitorID, 10, 50)) }},
		list("deliveries", monitors.DeliveryQuery{}),
		list("deliveries, those of a month ago", monitors.DeliveryQuery{Before: monthAgo}),
		list("deliveries that were made", monitors.DeliveryQuery{State: monitors.DeliveryDelivered}),
		list("deliveries that failed", monitors.DeliveryQuery{State: monitors.DeliveryFailed}),
		list("deliveries that are pending", monitors.DeliveryQuery{State: monitors.DeliveryPending}),
		list("deliveries of a monitor", monitors.DeliveryQuery{MonitorID: s.monitorID}),
		list("deliveries of an event", monitors.DeliveryQuery{EventID: s.eventID}),
		list("deliveries of an incident", monitors.DeliveryQuery{IncidentID: s.incidentID}),
		list("deliveries to a destination", monitors.DeliveryQuery{DestinationID: s.webhookID}),
		list("deliveries to a destination that failed", monitors.DeliveryQuery{DestinationID: s.webhookID, State: monitors.DeliveryFailed}),
		{"an event that is delivered again", s.statement(ctx, clearDeliveries), func() error { return st.Redeliver(ctx, s.monitorID, s.eventID) }},
	}
}

// pendingCallbacks gives each of some monitors a pending event.
const pendingCallbacks = clearDeliveries + `;
	WITH events AS (
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM (SELECT id FROM monitors WHERE status = 'monitoring' ORDER BY seq LIMIT 1000) AS first
		RETURNING id, monitor_id)
	INSERT INTO deliveries (id, monitor_id, event_id, queue, state, due_at, created_at) SELECT id, monitor_id, id, monitor_id, 'pending', now(), now() FROM events`

// delivered returns the outcome of an event that was accepted.
func delivered() delivery.Outcome {
	return delivery.Outcome{Decision: notify.Decision{Delivered: true}, Result: message.Result{Attempt: event.Attempt{At: time.Now(), Status: 204}}}
}

// outboxCalls are what the dispatcher asks for. All gateways ask while nothing is pending.
func (s *sample) outboxCalls(ctx context.Context, st *postgres.Store) []call {
	pending := func(condition string) func() error {
		return s.statement(ctx, clearDeliveries+`; UPDATE deliveries x SET state = 'pending', changed = incident_id IS NOT NULL,
			queue = CASE WHEN sequence IS NOT NULL THEN destination_id || ' ' || monitor_id END,
			due_at = CASE WHEN NOT EXISTS (
				SELECT FROM deliveries y WHERE y.destination_id = x.destination_id AND y.monitor_id = x.monitor_id AND y.sequence < x.sequence AND `+condition+`) THEN now() - interval '1 s' END
			WHERE `+condition)
	}
	none, callbacks := s.statement(ctx, clearDeliveries), s.statement(ctx, pendingCallbacks)
	one, thread := pending(`id = '`+s.deliveryID+`'`), pending(`incident_id = '`+s.incidentID+`'`)
	backlog := pending(`destination_id = '` + s.webhookID + `' AND sequence IS NOT NULL`)
	failed := s.statement(ctx, clearDeliveries+`; UPDATE deliveries SET state = 'failed' WHERE id = '`+s.deliveryID+`'`)
	var leased delivery.Leased
	lease := func() (err error) {
		leased, err = st.Lease(ctx, 32, time.Minute)
		return err
	}
	leaseSome := func() error { err := lease(); return errorOfSome(leased.Deliveries, err) }
	record := func(name string, before func() error, o delivery.Outcome) call {
		return call{name, inTurn(before, leaseSome), func() error { return errorOf(st.Record(ctx, leased.Deliveries[0], o)) }}
	}
	refused := func(d notify.Decision) delivery.Outcome {
		return delivery.Outcome{Decision: d, Result: message.Result{Attempt: event.Attempt{At: time.Now(), Status: 500, Error: "HTTP 500"}, Class: notify.Retry}}
	}
	told := delivered()
	told.Notified = &notify.Notified{Opened: true, Open: true}
	retried := refused(notify.Decision{RetryAt: time.Now().Add(time.Hour)})
	return []call{
		{"lease, nothing is pending", none, lease},
		{"lease of events, 1000 monitors have one", callbacks, leaseSome},
		{"the next lease of many events", inTurn(callbacks, leaseSome), leaseSome},
		{"lease of a delivery to a webhook", one, leaseSome},
		{"lease of a message about an incident, or none is due", thread, lease},
		{"lease of deliveries, a destination has a backlog", backlog, leaseSome},
		record("success of an event", callbacks, delivered()),
		record("failure of an event, which is tried again", callbacks, retried),
		record("failure of an event, which ends its monitor", callbacks, refused(notify.Decision{Failed: true, EndMonitor: true})),
		record("success of a delivery", one, delivered()),
		record("failure of a delivery", one, retried),
		record("success of a message", one, told),
		{"leases of an earlier gateway", inTurn(callbacks, leaseSome), func() error { return st.TakeOverLeases(ctx, "bench") }},
		{"a delivery that is made again", none, func() error { return st.Replay(ctx, s.deliveryID) }},
		{"failed deliveries of a destination, made again", failed, func() error { return errorOf(st.ReplayFailed(ctx, time.Now().Add(-day), s.webhookID)) }},
		{"failed deliveries of the last hour, made again", failed, func() error { return errorOf(st.ReplayFailed(ctx, time.Now().Add(-time.Hour), "")) }},
		{"an incident has changed", s.statement(ctx, clearDeliveries+`; UPDATE incidents SET unrouted = 1 WHERE id = '`+s.incidentID+`'`), lease},
		{"open incidents, after a change of a route", s.statement(ctx, clearDeliveries+`; UPDATE routing_version SET version = version + 1`), lease},
	}
}

// notificationCalls are those of destinations, routes and silences.
func (s *sample) notificationCalls(ctx context.Context, st *postgres.Store) []call {
	var destination, route, silence string
	newDestination := func() error {
		destination = newID()
		return errorOf(st.CreateDestination(ctx, notify.Destination{
			ID: destination, Name: destination, Kind: notify.Webhook, Language: notify.English, Enabled: true, Secrets: map[string]string{"url": "https://example.com/events", "signing_key": "key"},
		}))
	}
	newRoute := func() error {
		route = newID()
		return errorOf(st.CreateRoute(ctx, notify.Route{ID: route, Name: route, Match: notify.Match{Metadata: map[string]string{"operator": "nobody"}}, Destinations: []string{s.webhookID}}))
	}
	newSilence := func() error {
		silence = newID()
		return errorOf(st.CreateSilence(ctx, notify.Silence{ID: silence, Match: notify.Match{Monitors: []monitor.ID{"mon-none"}}, StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour), CreatedBy: "ann"}))
	}
	removeDestination := func() error { return st.DeleteDestination(ctx, destination) }
	removeRoute := func() error {
		if route == "" {
			return nil
		}
		return st.DeleteRoute(ctx, route)
	}
	renamed := func(d *notify.Destination) error { d.Name = "destination " + newID(); return nil }
	delayed := func(r *notify.Route) error { r.DelaySec++; return nil }
	commented := func(s *notify.Silence) error { s.Comment = newID(); return nil }
	return []call{
		{"destinations", nil, func() error { return errorOf(st.Destinations(ctx)) }},
		{"a destination", nil, func() error { return errorOf(st.Destination(ctx, s.webhookID)) }},
		{"attempts and backlogs of destinations", nil, func() error { return errorOf(st.Traffic(ctx)) }},
		{"a new destination", nil, newDestination},
		{"another name of a destination", nil, func() error { return errorOf(st.ChangeDestination(ctx, s.webhookID, renamed)) }},
		{"a destination that is deleted", newDestination, removeDestination},
		{"what is left of a deleted destination", inTurn(newDestination, removeDestination, func() error { // it takes 1000 deliveries of another one
			return s.statement(ctx, `
				UPDATE deliveries SET destination_id = $1, sequence = NULL, event_id = NULL
				WHERE id IN (SELECT id FROM deliveries WHERE sequence IS NOT NULL AND destination_id <> $2 ORDER BY created_at LIMIT 1000)`, destination, s.webhookID)()
		}), func() error { return st.PurgeDestinations(ctx) }},
		{"secrets of another key", s.statement(ctx, `UPDATE destinations SET secrets = convert_to(' ', 'UTF8') || secrets WHERE id = '`+s.chatID+`'`), func() error { return st.ResealSecrets(ctx) }},
		{"routes", nil, func() error { return errorOf(st.Routes(ctx)) }},
		{"a route", nil, func() error { return errorOf(st.Route(ctx, s.routeID)) }},
		{"another order of routes", func() error { slices.Reverse(s.routeIDs); return nil }, func() error { return errorOf(st.OrderRoutes(ctx, s.routeIDs)) }},
		{"another delay of a route", nil, func() error { return errorOf(st.ChangeRoute(ctx, s.routeIDs[0], delayed)) }},
		{"a new route", removeRoute, newRoute},
		{"a route that is deleted", inTurn(removeRoute, newRoute), removeRoute},
		{"silences", nil, func() error { return errorOf(st.Silences(ctx)) }},
		{"a silence", nil, func() error { return errorOf(st.Silence(ctx, s.silenceID)) }},
		{"the time", nil, func() error { return errorOf(st.CurrentTime(ctx)) }},
		{"a new silence", nil, newSilence},
		{"another comment of a silence", nil, func() error { return errorOf(st.ChangeSilence(ctx, s.silenceID, commented)) }},
		{"a silence that is ended", newSilence, func() error { return errorOf(st.EndSilence(ctx, silence)) }},
	}
}

// accessCalls are those of API keys, of the audit list of what they did, and of rate limits.
func (s *sample) accessCalls(ctx context.Context, st *postgres.Store) []call {
	var id string
	create := func() error {
		id = newID()
		return st.CreateKey(ctx, keyring.StoredKey{Key: access.Key{ID: id, Name: id, Role: access.Operator, CreatedBy: "ann", CreatedAt: time.Now().UTC()}, Digest: newDigest()})
	}
	var seq int64
	begin := func() (err error) {
		seq, err = st.BeginEntry(ctx, keyring.Entry{KeyID: s.keyID, KeyName: "ann", Action: "monitor.stop", Objects: []string{"mon-none"}, Client: "192.0.2.1"})
		return err
	}
	finish := func(status int) func() error {
		return func() error { return st.FinishEntry(ctx, seq, []string{"mon-none"}, status) }
	}
	const perMin = 100
	var client monitors.Client
	newClient := func() error { client = newDigest(); return nil }
	allow := func() error { return errorOf(st.Allow(ctx, client, monitors.Querying, perMin)) }
	return []call{
		{"keys", nil, func() error { return errorOf(st.Keys(ctx)) }},
		{"a new key", nil, create},
		{"the use of a key", nil, func() error { return st.MarkKeyUsed(ctx, s.keyID, time.Now()) }},
		{"a key that is revoked", create, func() error { return errorOf(st.RevokeKey(ctx, id, time.Now())) }},
		{"an audit entry", nil, begin},
		{"the result of an audit entry", begin, finish(200)},
		{"an audit entry of nothing", begin, finish(0)},
		{"audit entries", nil, func() error { return errorOf(st.Entries(ctx, 0, 100)) }},
		{"audit entries, a page by cursor", nil, func() error { return errorOf(st.Entries(ctx, 50_000, 100)) }},
		{"audit entries that expire", nil, func() error { return errorOf(st.DeleteEntries(ctx, 70*day, 100)) }},
		{"a request of an unknown client", newClient, allow},
		{"a request of a client", inTurn(newClient, allow), allow},
		{"a request that is given back", inTurn(newClient, allow), func() error { return st.Refund(ctx, client, monitors.Querying, perMin) }},
	}
}
