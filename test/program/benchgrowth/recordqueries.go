package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const day = 24 * time.Hour

func incidentQueries(s *sample) []query {
	listed := func(name string, f incidents.Filter) query {
		f.Limit = 51
		return query{"IncidentStore.ListIncidents", name, nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.ListIncidents(ctx, f); return err }}
	}
	act := func(name string, kind incident.EntryKind, text string) query {
		return query{"IncidentStore.ActOnIncident", name, nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ActOnIncident(ctx, s.incidentID, incidents.Action{OpID: newID(), Kind: kind, By: "ann", Text: text})
			return err
		}}
	}
	var other string // an open incident
	return []query{
		listed("incidents", incidents.Filter{}),
		listed("incidents, a page by cursor", incidents.Filter{Before: 1000}),
		listed("incidents that are open", incidents.Filter{State: incident.Open}),
		listed("incidents that are resolved", incidents.Filter{State: incident.Resolved}),
		listed("incidents that are severe", incidents.Filter{MinSeverity: 2}),
		listed("incidents of a monitor", incidents.Filter{MonitorID: s.monitorID}),
		listed("incidents with a condition", incidents.Filter{Condition: "black"}),
		listed("incidents with a condition that is rare", incidents.Filter{Condition: "late"}),
		listed("incidents of the last day", incidents.Filter{From: time.Now().Add(-day)}),
		listed("incidents before a month ago", incidents.Filter{To: time.Now().AddDate(0, -1, 0)}),
		{"IncidentStore.GetIncident", "an incident", nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.GetIncident(ctx, s.incidentID)
			return err
		}},
		act("a note at an incident", incident.Noted, "the encoder hangs"),
		act("an incident that is acknowledged", incident.Acknowledged, ""),
		{"IncidentStore.SweepIncidents", "incidents that time changes, every 2 s", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.SweepIncidents(ctx, 25); return err }},
		{"IncidentStore.SweepIncidents", "incidents that time changes, 25 are due", s.prepared(`UPDATE incidents SET due_at = now() WHERE id IN (SELECT id FROM incidents WHERE state = 'open' ORDER BY seq LIMIT 25)`),
			func(ctx context.Context, st *postgres.Store) error { _, err := st.SweepIncidents(ctx, 25); return err }},
		{"IncidentStore.WatchedIncidents", "incidents whose end was lost", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.WatchedIncidents(ctx, s.firstSeq, 100)
			return err
		}},
		{"IncidentStore.EndConditions", "an incident whose end is made up for", func(ctx context.Context, _ *postgres.Store) error {
			return s.db.QueryRowContext(ctx, `SELECT id FROM incidents WHERE monitor_id = $1 AND state = 'open'`, s.nextWatched()).Scan(&other)
		}, func(ctx context.Context, st *postgres.Store) error {
			now := time.Now().UTC()
			_, err := st.EndConditions(ctx, other, []incident.Good{{Condition: "silent", Since: now.Add(-time.Minute), At: now}})
			return err
		}},
	}
}

// subjects are what routes are explained for.
func subjects(s *sample) []query {
	return []query{
		{"SubjectStore.EventSubject", "where an event goes", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.EventSubject(ctx, s.eventID)
			return err
		}},
		{"SubjectStore.IncidentSubject", "where an incident goes", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.IncidentSubject(ctx, s.incidentID)
			return err
		}},
		{"SubjectStore.OpenSubjects", "where the open incidents go", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.OpenSubjects(ctx); return err }},
		{"SubjectStore.Routing", "the routing", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Routing(ctx); return err }},
		{"SubjectStore.Storm", "a storm", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Storm(ctx, s.stormID); return err }},
	}
}

func evidenceQueries(s *sample) []query {
	var file evidence.File
	newFile := func() evidence.File {
		return evidence.File{Variant: evidence.Onset, Digest: newDigest(), Size: 100, Width: 640, Height: 360, TakenAt: time.Now().UTC()}
	}
	reserve := func(ctx context.Context, st *postgres.Store) error {
		file = newFile()
		return st.ReserveBlob(ctx, s.monitorID, 1, file)
	}
	listed := func(name string, f evidences.Filter) query {
		f.Limit = 50
		return query{"EvidenceStore.ListEvidence", name, nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.ListEvidence(ctx, f); return err }}
	}
	id := evidence.ID(s.evidenceID)
	return []query{
		{"EvidenceStore.ReserveBlob", "an upload of a picture", nil, reserve},
		{"EvidenceStore.AddEvidence", "evidence with a picture", func(ctx context.Context, st *postgres.Store) error {
			// An event has room for two records.
			return errors.Join(s.exec(ctx, `DELETE FROM evidence WHERE event_id = $1 AND id <> $2`, s.eventID, s.evidenceID), reserve(ctx, st))
		}, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.AddEvidence(ctx, 1, evidence.Record{
				ID: evidence.ID(newID()), MonitorID: s.monitorID, EventID: s.eventID, Condition: "black", Phase: evidence.AlertPhase,
				Class: evidence.Normal, CreatedAt: time.Now().UTC(), Files: []evidence.File{file},
			})
			return err
		}},
		{"EvidenceStore.SetEvidenceClass", "another class of evidence", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.SetEvidenceClass(ctx, id, evidence.Case)
			return err
		}},
		{"EvidenceStore.Evidence", "evidence", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Evidence(ctx, id); return err }},
		listed("evidence of all monitors", evidences.Filter{}),
		listed("evidence of a monitor", evidences.Filter{MonitorID: s.monitorID}),
		listed("evidence of an incident", evidences.Filter{IncidentID: s.evidenceIncidentID}),
		listed("evidence of an event", evidences.Filter{EventID: s.eventID}),
		{"EvidenceStore.AlertOf", "the alert of a recovery", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.AlertOf(ctx, s.recoveryID, "alert.blackout")
			return err
		}},
	}
}

// evidenceSweeps are what the leader does with evidence and blobs by itself.
func evidenceSweeps(s *sample) []query {
	orphans := s.prepared(`INSERT INTO evidence_blobs (sha256, size, reserved_at) SELECT sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 100, now() - interval '2 h' FROM generate_series(1, 10)`)
	var claimed []evidence.Digest
	claim := func(ctx context.Context, st *postgres.Store) (err error) {
		claimed, err = st.ClaimOrphanedBlobs(ctx, time.Hour, 100)
		return requireSome(len(claimed), err)
	}
	return []query{
		{"EvidenceStore.QuarantineSevereEvidence", "evidence of severe incidents", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.QuarantineSevereEvidence(ctx, 100)
			return err
		}},
		{"EvidenceStore.DeleteExpiredEvidence", "evidence that expires", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DeleteExpiredEvidence(ctx, evidence.Normal, 14*day, 100)
			return err
		}},
		{"EvidenceStore.DeleteExpiredEvidence", "evidence that expires, none does", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DeleteExpiredEvidence(ctx, evidence.Normal, 365*day, 100)
			return err
		}},
		{"EvidenceStore.ClaimOrphanedBlobs", "blobs without evidence", orphans, claim},
		{"EvidenceStore.ForgetBlobs", "blobs that were deleted", func(ctx context.Context, st *postgres.Store) error {
			if err := orphans(ctx, st); err != nil {
				return err
			}
			return claim(ctx, st)
		}, func(ctx context.Context, st *postgres.Store) error { return st.ForgetBlobs(ctx, claimed) }},
		{"EvidenceStore.AdoptBlobs", "blobs that the store has", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.AdoptBlobs(ctx, []evidence.Digest{s.blob, newDigest()})
			return err
		}},
	}
}

// blobs are what the store of blobs in the database does.
func blobs() []query {
	var stored evidence.Digest
	put := func(ctx context.Context, st *postgres.Store) error {
		picture := []byte(newID())
		stored = sha256.Sum256(picture)
		return st.BlobStore().Put(ctx, evidences.NewContent(stored, int64(len(picture)), bytes.NewReader(picture)))
	}
	return []query{
		{"BlobStore.Put", "a blob that is stored", nil, put},
		{"BlobStore.Open", "a blob that is read", nil, func(ctx context.Context, st *postgres.Store) error {
			content, err := st.BlobStore().Open(ctx, stored, 0)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, content)
			return err
		}},
		{"BlobStore.Delete", "a blob that is deleted", put, func(ctx context.Context, st *postgres.Store) error { return st.BlobStore().Delete(ctx, stored) }},
		{"BlobStore.List", "a page of blobs", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.BlobStore().List(ctx, stored, 1000)
			return err
		}},
		{"BlobStore.DeletePartial", "uploads that were cut", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.BlobStore().DeletePartial(ctx, time.Hour)
			return err
		}},
	}
}

func historyQueries(s *sample) []query {
	visitor := histories.Visitor{Begin: func(histories.MonitorLife) {}, Span: func(history.Span) {}, Minute: func(monitor.Minute) {}}
	timeline := func(name string, age, width time.Duration) query {
		return query{"HistoryStore.MonitorHistory", name, nil, func(ctx context.Context, st *postgres.Store) error {
			now := time.Now()
			return st.MonitorHistory(ctx, s.monitorID, now.Add(-age), now, width, visitor)
		}}
	}
	sum := func(name string, id monitor.ID) query {
		return query{"HistoryStore.SumHistory", name, nil, func(ctx context.Context, st *postgres.Store) error {
			now := time.Now()
			return st.SumHistory(ctx, id, now, history.NewSummary([]history.Period{{From: now.Add(-30 * day), To: now}}))
		}}
	}
	return []query{
		timeline("a timeline of an hour", time.Hour, time.Minute),
		timeline("a timeline of a day", day, 5*time.Minute),
		timeline("a timeline of a month", 30*day, 30*time.Minute),
		sum("statistics of a monitor, a month", s.monitorID),
		sum("statistics of all monitors, a month", ""),
		{"HistoryStore.Broadcasts", "broadcasts of a monitor", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Broadcasts(ctx, s.monitorID)
			return err
		}},
		{"HistoryStore.MergeMinutes", "minutes that are merged, ten of some monitors",
			s.prepared(`DELETE FROM history_ten_minutes WHERE begins >= (SELECT until FROM history_merged) - interval '10 minutes'; UPDATE history_merged SET monitor_id = '', until = (
				SELECT minute FROM history_minutes GROUP BY minute ORDER BY count(*) DESC, minute LIMIT 1)`),
			func(ctx context.Context, st *postgres.Store) error {
				_, err := st.MergeMinutes(ctx, history.SettledBefore(time.Now()))
				return err
			}},
		{"HistoryStore.DeleteHistory", "history that expires", nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.DeleteHistory(ctx, time.Now().Add(-29*day), 1000)
			return err
		}},
		{"HistoryStore.DeleteHistory", "history that expires, none does", nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.DeleteHistory(ctx, time.Now().Add(-365*day), 1000)
			return err
		}},
	}
}

// expiries are what the leader deletes of ended monitors.
func expiries(s *sample) []query {
	var id monitor.ID
	ended := func(context.Context, *postgres.Store) error { id = s.nextEnded(); return nil }
	empty := func(ctx context.Context, st *postgres.Store) error {
		id = s.nextEnded()
		return s.exec(ctx, `
			WITH events AS (DELETE FROM monitor_events WHERE monitor_id = $1),
			     evidence AS (DELETE FROM evidence WHERE monitor_id = $1)
			DELETE FROM incidents WHERE monitor_id = $1`, id)
	}
	return []query{
		{"ExpiryStore.ExpiringMonitors", "monitors whose events expire, none do", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ExpiringMonitors(ctx, 90*day, histories.EndedMonitor{}, 100)
			return err
		}},
		{"ExpiryStore.ExpiringMonitors", "monitors whose events expire", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ExpiringMonitors(ctx, time.Hour, histories.EndedMonitor{}, 100)
			return err
		}},
		{"ExpiryStore.DeleteEvents", "events that expire", ended, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DeleteEvents(ctx, id, 10*day, 1000)
			return err
		}},
		{"ExpiryStore.DeleteIncidents", "incidents that expire", ended, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.DeleteIncidents(ctx, id, 0, 1000)
			return err
		}},
		{"ExpiryStore.DeleteNotifications", "silences, storms and notices that expire", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DeleteNotifications(ctx, 90*day, 1000)
			return err
		}},
		{"ExpiryStore.DeleteMonitor", "a monitor that has events", ended, func(ctx context.Context, st *postgres.Store) error { return st.DeleteMonitor(ctx, id) }},
		{"ExpiryStore.DeleteMonitor", "a monitor that has none", empty, func(ctx context.Context, st *postgres.Store) error { return st.DeleteMonitor(ctx, id) }},
	}
}

func feeds(s *sample) []query {
	return []query{
		{"FeedStore.ReadState", "state for the feed", nil, func(ctx context.Context, st *postgres.Store) error { _, _, err := st.ReadState(ctx); return err }},
		{"FeedStore.NumberFeed", "the inbox of the feed, when it is empty", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.NumberFeed(ctx); return err }},
		{"FeedStore.NumberFeed", "versions for 100 changes", s.prepared(`INSERT INTO feed_inbox (type, id) SELECT 'monitor.updated', id FROM monitors ORDER BY seq LIMIT 100`),
			func(ctx context.Context, st *postgres.Store) error { _, err := st.NumberFeed(ctx); return err }},
		{"FeedStore.ReadFeed", "entries of the feed", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ReadFeed(ctx, 90_000, 100)
			return err
		}},
		{"FeedStore.ReadChecker", "state of the workers, every 5 s", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.ReadChecker(ctx); return err }},
		{"FeedStore.RenewFeedEpoch", "the epoch of the feed", nil, func(ctx context.Context, st *postgres.Store) error { return st.RenewFeedEpoch(ctx) }},
		{"FeedStore.DeleteFeed", "entries of the feed that expire", nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.DeleteFeed(ctx, 72*time.Hour)
			return err
		}},
	}
}

func thumbnails(s *sample) []query {
	picture := bytes.Repeat([]byte{1}, 10_000)
	return []query{
		{"ThumbnailStore.LeaseThumbnails", "a page that shows thumbnails", nil, func(ctx context.Context, st *postgres.Store) error {
			return st.LeaseThumbnails(ctx, []monitor.ID{s.monitorID, monitor.ID(s.watched[0])}, time.Minute)
		}},
		{"ThumbnailStore.PutThumbnail", "a thumbnail", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.PutThumbnail(ctx, evidences.Thumbnail{MonitorID: s.monitorID, TakenAt: time.Now(), JPEG: picture}, 1)
			return err
		}},
		{"ThumbnailStore.GetThumbnail", "a thumbnail that is read", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.GetThumbnail(ctx, s.monitorID)
			return err
		}},
		{"ThumbnailStore.DeleteThumbnails", "thumbnails that are old", nil, func(ctx context.Context, st *postgres.Store) error { return st.DeleteThumbnails(ctx, time.Hour) }},
	}
}
