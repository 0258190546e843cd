package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// found is what a transaction has found out about a locked monitor.
type found struct {
	monitor   lockedMonitor
	report    *monitor.Report        // nil: it was no report
	byGateway bool                   // the gateway has made the report, and the worker has not reported
	applied   bool                   // the report gives the present state: it is no overtaken report
	events    []event.Event          // to store; insertEvents leaves those that this transaction has stored
	ended     *incident.MonitorEnded // the monitor is not active when the transaction ends
	paused    *incident.Paused       // ends what the events have begun, or what is open as a pause begins; nil: no pause does
	changed   bool                   // readers of the feed see it change
}

// inputs returns what incidents take in.
func (f found) inputs() []incident.Found {
	var signals []monitor.Signal
	if f.report != nil {
		signals = f.report.Signals
	}
	inputs := incident.Inputs(f.events, signals)
	if f.ended != nil {
		inputs = append(inputs, incident.Found{Input: *f.ended})
	}
	if f.paused != nil {
		inputs = append(inputs, incident.Found{Input: *f.paused})
	}
	return inputs
}

// record stores what was found about different monitors, in the order of their IDs. These are states, events with
// their deliveries, histories and incidents. It adds all changes to the feed.
//
// A monitor whose record is parked gets neither history nor incidents. Its events are delivered
// wherever the worst goes: a false alert is better than a lost one.
func (db *database) record(ctx context.Context, tx *sqlx.Tx, all ...found) (err error) {
	if err := db.applyReports(ctx, tx, all); err != nil {
		return err
	}
	if all, err = db.insertEvents(ctx, tx, all); err != nil {
		return err
	}
	var recorded []found
	var monitors, events []feedChange
	for _, f := range all {
		if !f.monitor.parked {
			recorded = append(recorded, f)
		}
		if f.changed {
			monitors = append(monitors, monitorChange(f.monitor.id))
		}
		for _, e := range f.events {
			events = append(events, deliveryChange(e.ID))
		}
		if err := resolveBlindEvents(ctx, tx, f); err != nil {
			return err
		}
	}
	if err := storeHistory(ctx, tx, recorded); err != nil {
		return err
	}
	incidents, incidentOf, err := recordIncidents(ctx, tx, recorded)
	if err != nil {
		return err
	}
	if err := db.deliverEvents(ctx, tx, all, incidentOf); err != nil {
		return err
	}
	return addToFeed(ctx, tx, slices.Concat(monitors, events, incidents)...)
}

// recordOrPark does for one monitor what record does. If the server refuses its history or its
// incident, for a wrong value or a damaged index, the record of the monitor is parked. The report and its alerts are
// stored all the same. It is tried again when parkedFor is over.
func (db *database) recordOrPark(ctx context.Context, tx *sqlx.Tx, f found) error {
	parked, err := db.orPark(ctx, tx, f.monitor, func() error { return db.record(ctx, tx, f) })
	if err == nil && parked {
		f.monitor.parked = true
		return db.record(ctx, tx, f)
	}
	return err
}

// parkedFor is how long the record of a monitor is parked before it is tried again.
const parkedFor = `interval '1 hour'`

// orPark runs the part of a transaction that changes the history or the incident of a locked
// monitor, and parks these if it fails. An error is one that passes, or that has ended the transaction: its
// caller, or the worker, tries again.
func (db *database) orPark(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, work func() error) (parked bool, err error) {
	if m.parked {
		return false, work()
	}
	if _, err := tx.ExecContext(ctx, `SAVEPOINT record`); err != nil {
		return false, err
	}
	failure := work()
	if failure == nil {
		if m.wasParked {
			failure = setParked(ctx, tx, m, false)
		}
		return false, failure
	}
	var refusal *monitor.Error // of the report
	if ctx.Err() != nil || isTransient(failure) || isPassing(failure) || errors.As(failure, &refusal) {
		return false, failure
	}
	if _, err := tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT record`); err != nil {
		return false, errors.Join(failure, err)
	}
	db.log.Warn("history and incidents of a monitor cannot be stored and are left out for an hour, its alerts are delivered wherever the worst goes: report the defect with error",
		"monitor_id", string(m.id), "error", failure.Error())
	return true, setParked(ctx, tx, m, true)
}

// setParked stores whether the record of a locked monitor is parked. Readers of the feed see when that
// changes.
func setParked(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, parked bool) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE monitors SET record_parked_since = CASE WHEN $2 THEN COALESCE(record_parked_since, now()) END, record_tried_at = CASE WHEN $2 THEN now() END
		WHERE id = $1`, m.id, parked)
	if err != nil || parked == m.wasParked {
		return err
	}
	return addToFeed(ctx, tx, monitorChange(m.id))
}

// RetryRecords makes the records of all parked monitors be tried again. Those that are active store
// theirs with their next report. Those that have ended get no report: their incidents are resolved here.
func (s *ReportStore) RetryRecords(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE monitors SET record_tried_at = NULL WHERE record_tried_at IS NOT NULL`); err != nil {
		return wrapError(ctx, "try again to store the records of monitors", err)
	}
	var ended []struct {
		ID      monitor.ID `db:"id"`
		EndedAt time.Time  `db:"ended_at"`
	}
	err := s.db.SelectContext(ctx, &ended, `SELECT id, ended_at FROM monitors WHERE record_parked_since IS NOT NULL AND ended_at IS NOT NULL ORDER BY id`)
	if err != nil {
		return wrapError(ctx, "find ended monitors whose records are parked", err)
	}
	for _, e := range ended {
		err := s.db.inTx(ctx, "store the end of "+string(e.ID), func(tx *sqlx.Tx) error {
			m, err := lockMonitor(ctx, tx, e.ID)
			if err != nil {
				return err
			}
			return s.db.recordOrPark(ctx, tx, found{monitor: m, ended: &incident.MonitorEnded{At: e.EndedAt, Failed: m.status == monitor.Failed}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
