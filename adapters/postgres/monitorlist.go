package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// openIncident joins the open incident of each monitor; a monitor has at most one.
const openIncident = ` LEFT JOIN incidents i ON i.monitor_id = m.id AND i.state = 'open'`

// inTrouble selects monitors with an incident that goes on, or with a bad picture or sound,
// whatever their incidents say.
const inTrouble = `m.id IN (
	SELECT i.monitor_id FROM incidents i WHERE ` + goingOn + `
	UNION ALL SELECT b.id FROM monitors b WHERE b.` + activePredicate + ` AND (b.health_video NOT IN ('ok', 'unknown', 'none', '') OR b.health_audio NOT IN ('ok', 'unknown', '')))`

const listedColumns = monitorColumns + `, m.seq, to_json(i) AS incident`

type listedRow struct {
	monitorRow

	Seq      int64  `db:"seq"`
	Incident []byte `db:"incident"` // a storedIncident; NULL: none is open
}

// toListed returns the monitor. If a part cannot be read, it returns the rest with the error.
func (r listedRow) toListed() (monitors.ListedMonitor, error) {
	m, err := r.toMonitor()
	listed := monitors.ListedMonitor{Monitor: m, Seq: r.Seq}
	if r.Incident != nil {
		var unread error
		listed.Incident, unread = decodeIncident(r.Incident)
		err = errors.Join(err, unread)
	}
	return listed, err
}

// List implements monitors.MonitorStore.
func (s *MonitorStore) List(ctx context.Context, q monitors.MonitorQuery) ([]monitors.ListedMonitor, int, error) {
	page, total, err := s.list(ctx, q)
	return page, total, wrapError(ctx, "list monitors", err)
}

func (s *MonitorStore) list(ctx context.Context, q monitors.MonitorQuery) ([]monitors.ListedMonitor, int, error) {
	where, args := listConditions(q)
	var rows []listedRow
	query, pageArgs := pageQuery(q, where, args)
	if err := s.db.SelectContext(ctx, &rows, query, pageArgs...); err != nil {
		return nil, 0, err
	}
	page := make([]monitors.ListedMonitor, 0, len(rows))
	for _, r := range rows {
		listed, err := r.toListed()
		if err != nil {
			logPartly(s.db.log, "monitors", r.ID, err)
		}
		if err := s.db.routing.markUntold(ctx, s.db, &listed.Monitor); err != nil {
			return nil, 0, err
		}
		page = append(page, listed)
	}
	if q.Before == 0 && q.BeforeEnd.ID == "" && len(page) < q.Limit && (len(page) > 0 || q.Offset == 0) {
		return page, q.Offset + len(page), nil // it is the last page
	}
	var total int
	count, args := countQuery(q, where, args)
	err := s.db.GetContext(ctx, &total, count, args...)
	return page, total, err
}

// pageQuery returns the query of a page. It finds the monitors of the page alone, by an index, and
// joins nothing to the others.
func pageQuery(q monitors.MonitorQuery, where []string, args []any) (string, []any) {
	order := `m.seq DESC`
	if q.Ended {
		order = `m.ended_at DESC, m.id DESC`
	}
	if q.Before > 0 {
		where = append(where, fmt.Sprintf(`m.seq < %d`, q.Before))
	}
	if q.BeforeEnd.ID != "" {
		args = append(args, q.BeforeEnd.EndedAt.UTC(), q.BeforeEnd.ID)
		where = append(where, fmt.Sprintf(`(m.ended_at, m.id) < ($%d, $%d)`, len(args)-1, len(args)))
	}
	return fmt.Sprintf(`
		SELECT %s FROM (SELECT m.seq FROM monitors m%s ORDER BY %s LIMIT %d OFFSET %d) AS page
		JOIN monitors m ON m.seq = page.seq JOIN monitor_stats s ON s.monitor_id = m.id%s%s ORDER BY %s`,
		listedColumns, whereOf(where), order, q.Limit, q.Offset, openIncident, holdingHints, order), args
}

// countOf has the query that reads how many monitors have a status; the empty status means all.
var countOf = map[monitor.Status]string{
	"": `SELECT initializing + waiting + monitoring + completed + stopped + error FROM active_monitors, ended_monitors`,

	monitor.Initializing: `SELECT initializing FROM active_monitors`,
	monitor.Waiting:      `SELECT waiting FROM active_monitors`,
	monitor.Monitoring:   `SELECT monitoring FROM active_monitors`,
	monitor.Completed:    `SELECT completed FROM ended_monitors`,
	monitor.Stopped:      `SELECT stopped FROM ended_monitors`,
	monitor.Failed:       `SELECT error FROM ended_monitors`,
}

// countActive and countLive read how many monitors are active, and how many of their streams are
// live. Triggers change these counts as a transaction ends: it does not see its own changes.
const (
	countActive = `SELECT initializing + waiting + monitoring FROM active_monitors`
	countLive   = `SELECT live FROM active_monitors`
	countEnded  = `SELECT completed + stopped + error FROM ended_monitors`
)

// countQuery returns the query of how many monitors match, and its arguments. It counts them one by
// one only if no counter has them.
func countQuery(q monitors.MonitorQuery, where []string, args []any) (string, []any) {
	switch {
	case len(where) == 0, len(where) == 1 && q.Status != "":
		return countOf[q.Status], nil
	case len(where) == 1 && q.Ended:
		return countEnded, nil
	case len(where) == 2 && q.Ended && q.Status != "" && !q.Status.Active():
		return countOf[q.Status], nil
	case len(where) == 1 && q.Live:
		return countLive, nil
	}
	return `SELECT count(*) FROM monitors m` + whereOf(where), args
}

// searchedPairs is the expression of idx_monitors_text.
const searchedPairs = `character_pairs(m.id || lower(m.stream_url) || COALESCE(lower(CAST(m.metadata AS text)), ''))`

// listConditions returns the conditions of the filters, and their arguments. The text is compared by
// strpos, to which no character is special.
// Metadata are compared as JSONB shows them, without escapes.
func listConditions(q monitors.MonitorQuery) (where []string, args []any) {
	if q.Status != "" {
		args = append(args, q.Status)
		where = append(where, fmt.Sprintf(`m.status = $%d`, len(args)))
	}
	if q.Active {
		where = append(where, `m.`+activePredicate)
	}
	if q.Ended {
		where = append(where, `m.ended_at IS NOT NULL`)
	}
	for _, limit := range []struct {
		comparison string
		at         time.Time
	}{{`m.ended_at >= $%d`, q.EndedFrom}, {`m.ended_at < $%d`, q.EndedTo}} {
		if !limit.at.IsZero() {
			args = append(args, limit.at.UTC())
			where = append(where, fmt.Sprintf(limit.comparison, len(args)))
		}
	}
	if q.ChannelID != "" {
		args = append(args, q.ChannelID)
		where = append(where, fmt.Sprintf(`m.channel_id = $%d`, len(args)))
	}
	if q.Owner != "" {
		args = append(args, q.Owner)
		where = append(where, fmt.Sprintf(`m.owner = $%d AND m.owner <> ''`, len(args)))
	}
	if q.Trouble {
		where = append(where, inTrouble)
	}
	if q.Blind {
		where = append(where, `m.blind_since IS NOT NULL`)
	}
	if q.Live {
		where = append(where, `m.stream_status = 'live' AND m.`+activePredicate)
	}
	if len(q.Labels) > 0 {
		args = append(args, labels(q.Labels))
		where = append(where, fmt.Sprintf(haveLabels, len(args)))
	}
	if q.Text != "" {
		args = append(args, q.Text)
		text := fmt.Sprintf(`lower(CAST($%d AS text))`, len(args))
		if utf8.RuneCountInString(q.Text) > 1 { // what has the pairs may have them elsewhere
			where = append(where, searchedPairs+` @> character_pairs(`+text+`)`)
		}
		where = append(where, `(strpos(lower(m.stream_url), `+text+`) > 0 OR strpos(m.id, `+text+`) > 0 OR strpos(lower(CAST(m.metadata AS text)), `+text+`) > 0)`)
	}
	return where, args
}

func whereOf(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(conditions, ` AND `)
}
