package postgres

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// selectMonitor reads monitorRows. selectActive reads those of the monitors that need
// a worker. It leaves out the snapshots, because they may be long. It leaves out labels, hints and
// statistics, too: each gateway reads it every 5 s, and decides nothing by them.
const (
	monitorColumns = ownColumns + `, m.labels, holding.hints, ` + youngIngest + ` AS ingest,
		s.total_segments, s.blackout_events, s.silence_events, s.detector_events, s.last_check_at`
	ownColumns = `
		m.id, m.number, m.stream_url, m.callback_url, m.config, m.metadata_text, m.status,
		m.stream_status, m.health_video, m.health_audio, m.health_conditions, m.health_renditions, m.last_error, m.blind_since, m.last_observed_at, m.record_parked_since,
		m.reason, m.generation, m.revision, m.place, m.reported_at,
		m.created_at, m.updated_at, m.ended_at, m.reserved_until, m.channel_id, m.owner,
		CASE WHEN m.paused_until > now() THEN m.paused_until END AS paused_until, m.paused_by`
	fromMonitors = ` FROM monitors m JOIN monitor_stats s ON s.monitor_id = m.id` + holdingHints

	selectMonitor = `SELECT m.snapshot, m.stream_secret,` + monitorColumns + fromMonitors
	selectActive  = `SELECT ` + ownColumns + ` FROM monitors m WHERE m.` + activePredicate + ` AND m.reserved_until IS NULL ORDER BY m.seq`
)

type monitorRow struct {
	ID             string         `db:"id"`
	Number         int            `db:"number"`
	StreamURL      string         `db:"stream_url"`
	CallbackURL    string         `db:"callback_url"`
	Config         []byte         `db:"config"`
	MetadataText   sql.NullString `db:"metadata_text"`
	Labels         labels         `db:"labels"` // nil: the query reads none
	Status         string         `db:"status"`
	StreamStatus   string         `db:"stream_status"`
	HealthVideo    string         `db:"health_video"`
	HealthAudio    string         `db:"health_audio"`
	Conditions     []byte         `db:"health_conditions"`
	Renditions     []byte         `db:"health_renditions"`
	LastError      string         `db:"last_error"`
	BlindSince     sql.NullTime   `db:"blind_since"`
	LastObservedAt sql.NullTime   `db:"last_observed_at"`
	ParkedSince    sql.NullTime   `db:"record_parked_since"`
	Reason         string         `db:"reason"`
	Generation     int            `db:"generation"`
	Revision       int            `db:"revision"`
	RuntimeID      string         `db:"place"` // place is the old word for a runtime
	ReportedAt     sql.NullTime   `db:"reported_at"`
	Snapshot       []byte         `db:"snapshot"`
	StreamSecret   []byte         `db:"stream_secret"`
	CreatedAt      time.Time      `db:"created_at"`
	UpdatedAt      time.Time      `db:"updated_at"`
	EndedAt        sql.NullTime   `db:"ended_at"`
	ReservedUntil  sql.NullTime   `db:"reserved_until"`
	ChannelID      sql.NullString `db:"channel_id"`
	Owner          string         `db:"owner"`
	PausedUntil    sql.NullTime   `db:"paused_until"` // NULL: it is not paused
	PausedBy       string         `db:"paused_by"`
	TotalSegments  int            `db:"total_segments"`
	BlackoutEvents int            `db:"blackout_events"`
	SilenceEvents  int            `db:"silence_events"`
	DetectorEvents []byte         `db:"detector_events"`
	LastCheckAt    sql.NullTime   `db:"last_check_at"`
	Hints          []byte         `db:"hints"`  // NULL: none holds, or the query reads none
	Ingest         []byte         `db:"ingest"` // NULL: nothing is known, or the query reads nothing
}

// toMonitor returns the monitor. If a part cannot be read, it returns the rest with the error.
func (r monitorRow) toMonitor() (monitor.Monitor, error) {
	var counts monitor.Statistics
	var err error
	if r.DetectorEvents != nil { // else the query reads no statistics
		if counts, err = statistics(r.TotalSegments, r.BlackoutEvents, r.SilenceEvents, r.DetectorEvents); err != nil {
			err = fmt.Errorf("statistics of %s: %w", r.ID, err)
		}
	}
	m := monitor.Monitor{
		ID:           monitor.ID(r.ID),
		Number:       r.Number,
		StreamURL:    monitor.StreamURL(r.StreamURL),
		CallbackURL:  monitor.CallbackURL(r.CallbackURL),
		Labels:       monitor.Labels(r.Labels),
		Status:       monitor.Status(r.Status),
		StreamStatus: monitor.StreamStatus(r.StreamStatus),
		Health: monitor.Health{
			Video:       monitor.TrackHealth(r.HealthVideo),
			Audio:       monitor.TrackHealth(r.HealthAudio),
			LastCheckAt: timeOrZero(r.LastCheckAt),
		},
		Visibility: monitor.Visibility{
			LastError:      r.LastError,
			BlindSince:     timeOrZero(r.BlindSince),
			LastObservedAt: timeOrZero(r.LastObservedAt),
		},
		Statistics: counts,
		Reason:     r.Reason,
		Generation: r.Generation,
		Revision:   r.Revision,
		RuntimeID:  r.RuntimeID,
		ReportedAt: timeOrZero(r.ReportedAt),
		CreatedAt:  r.CreatedAt.UTC(),
		UpdatedAt:  r.UpdatedAt.UTC(),
		EndedAt:    timeOrZero(r.EndedAt),
		ChannelID:  r.ChannelID.String,
		Owner:      r.Owner,

		ReservedUntil:     timeOrZero(r.ReservedUntil),
		RecordParkedSince: timeOrZero(r.ParkedSince),
	}
	if r.PausedUntil.Valid {
		m.Pause = monitor.Pause{Until: timeOrZero(r.PausedUntil), By: r.PausedBy}
	}
	for _, column := range []struct {
		text []byte
		into any
	}{{r.Conditions, &m.Health.Conditions}, {r.Renditions, &m.Health.Renditions}} {
		if len(column.text) == 0 {
			continue
		}
		if broken := json.Unmarshal(column.text, column.into); broken != nil {
			err = errors.Join(err, fmt.Errorf("health of %s: %w", r.ID, broken))
		}
	}
	if len(r.Hints) > 0 {
		if broken := json.Unmarshal(r.Hints, &m.Hints); broken != nil {
			err = errors.Join(err, fmt.Errorf("hints of %s: %w", r.ID, broken))
		}
	}
	if len(r.Ingest) > 0 {
		if broken := json.Unmarshal(r.Ingest, &m.Ingest); broken != nil {
			err = errors.Join(err, fmt.Errorf("ingest of %s: %w", r.ID, broken))
		}
	}
	if r.MetadataText.Valid {
		m.Metadata = json.RawMessage(r.MetadataText.String)
	}
	if err := json.Unmarshal(r.Config, &m.Config); err != nil {
		return m, fmt.Errorf("config of %s: %w", r.ID, err)
	}
	return m, err
}

// logPartly logs a row of which a part cannot be read. A list has the rest of it, so that its
// page keeps its length and the other rows are seen.
func logPartly(log *slog.Logger, table, id string, err error) {
	log.Error("a part of a row cannot be read, and is empty in a list: mend or delete the row", "table", table, "id", id, "error", err.Error())
}

// timeOrZero returns the zero time for NULL.
func timeOrZero(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// nullTime returns NULL for the zero time.
func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t.UTC(), Valid: !t.IsZero()} }

// nullText returns NULL for no bytes. It is a string because the driver sends bytes
// as bytea.
func nullText(b []byte) sql.NullString { return sql.NullString{String: string(b), Valid: len(b) > 0} }
