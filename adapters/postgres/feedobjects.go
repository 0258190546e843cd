package postgres

import (
	"context"
	"log/slog"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// feedObjects reads objects as the feed shows them. A row that cannot be read is logged and
// left out.
type feedObjects struct {
	tx      *sqlx.Tx
	routing *routingCache
	log     *slog.Logger
	leftOut int // rows
}

func (o *feedObjects) leaveOut(table, id string, err error) {
	o.leftOut++
	logLeftOut(o.log, table, id, err)
}

func logLeftOut(log *slog.Logger, table, id string, err error) {
	log.Warn("row left out of the feed: report the defect with error", "table", table, "id", id, "error", err.Error())
}

// monitors reads the monitors m of a condition.
func (o *feedObjects) monitors(ctx context.Context, condition string, args ...any) ([]feed.Monitor, error) {
	var rows []monitorRow
	err := o.tx.SelectContext(ctx, &rows, `SELECT `+monitorColumns+fromMonitors+` WHERE `+condition, args...)
	shown := make([]feed.Monitor, 0, len(rows))
	for _, r := range rows {
		m, err := r.toMonitor()
		if err != nil {
			o.leaveOut("monitors", r.ID, err)
			continue
		}
		if err := o.routing.markUntold(ctx, o.tx, &m); err != nil {
			return nil, err
		}
		shown = append(shown, feed.NewMonitor(m))
	}
	return shown, err
}

// incidents reads the incidents i of a condition.
func (o *feedObjects) incidents(ctx context.Context, condition string, args ...any) ([]feed.Incident, error) {
	var rows []incidentRow
	err := o.tx.SelectContext(ctx, &rows, `SELECT `+incidentColumns+` FROM incidents i WHERE `+condition, args...)
	shown := make([]feed.Incident, 0, len(rows))
	for _, r := range rows {
		i, err := r.toIncident()
		if err != nil {
			o.leaveOut("incidents", r.ID, err)
			continue
		}
		shown = append(shown, feed.NewIncident(r.MonitorID, *i))
	}
	return shown, err
}

// selectDeliveries reads what the feed shows of the deliveries of events e to their callbacks.
const selectDeliveries = `
	SELECT e.id, e.monitor_id, e.event_type, e.created_at, e.webhook_status, e.webhook_attempts, e.webhook_last_error,
	       CASE WHEN e.webhook_status = 'pending' THEN x.due_at END AS next_attempt_at, e.sent_at
	FROM monitor_events e JOIN deliveries x ON x.id = e.id`

// deliveries reads what a query of selectDeliveries selects.
func (o *feedObjects) deliveries(ctx context.Context, query string, args ...any) ([]feed.Delivery, error) {
	shown := []feed.Delivery{}
	err := o.tx.SelectContext(ctx, &shown, query, args...)
	for n, d := range shown {
		shown[n] = feed.NewDelivery(d)
	}
	return shown, err
}

// evidence reads the evidence of a condition, with its files.
func (o *feedObjects) evidence(ctx context.Context, condition string, args ...any) ([]feed.Evidence, error) {
	var rows []evidenceRow
	if err := o.tx.SelectContext(ctx, &rows, `SELECT `+evidenceColumns+` FROM evidence WHERE `+condition, args...); err != nil {
		return nil, err
	}
	records, err := withFiles(ctx, o.tx, rows)
	shown := make([]feed.Evidence, 0, len(records))
	for _, r := range records {
		shown = append(shown, feed.NewEvidence(r))
	}
	return shown, err
}
