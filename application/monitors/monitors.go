package monitors

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MaxSearchText is the longest MonitorQuery.Text in bytes.
const MaxSearchText = 200

// MonitorQuery selects a page of monitors, newest first (sections 3.4, 16.6). Its filters
// are combined. The zero value of a filter selects every monitor.
type MonitorQuery struct {
	Status monitor.Status
	Active bool // only those that have not ended

	// Ended selects those that have ended, the newest end first. EndedFrom and EndedTo limit when: from one on and before the other;
	// zero: no limit. BeforeEnd takes the place of Before.
	Ended              bool
	EndedFrom, EndedTo time.Time
	BeforeEnd          EndedPlace

	ChannelID string // only those that this channel has found or adopted, a UUID

	Owner   string         // only those that this file keeps
	Trouble bool           // only with an incident that goes on, or with a bad picture or sound
	Blind   bool           // only those that cannot be observed (decision S15)
	Live    bool           // only active ones whose stream is live
	Labels  monitor.Labels // only those that have all of these
	Text    string         // in the stream URL, the metadata or the ID, ignoring case; at most MaxSearchText bytes
	Before  int64          // only monitors older than the one with this Seq; 0: from the newest on
	Limit   int            // 1 to MaxPage
	Offset  int            // 0 to MaxOffset; 0 with Before
}

// EndedPlace is the place of an ended monitor among the others; zero: before all.
type EndedPlace struct {
	EndedAt time.Time
	ID      monitor.ID
}

// ListedMonitor is a monitor of a list, without its snapshot.
type ListedMonitor struct {
	monitor.Monitor

	Seq      int64              // its place among all monitors, in the order of registration
	Incident *incident.Incident // the open one, with ID, Severity, SeverityNow, Conditions and OpenedAt; nil: none
}

// MonitorPage is a page of a list.
type MonitorPage struct {
	Monitors []ListedMonitor
	Total    int   // matches of the filters, on all pages
	Next     int64 // Before of the next page; 0: this is the last, or they have ended

	NextEnded EndedPlace // BeforeEnd of the next page of ended monitors; zero: this is the last
}

// MonitorReader reads monitors. It may be used concurrently.
type MonitorReader struct {
	MonitorGetter

	store MonitorStore
}

// List reads a page of monitors. Errors: *monitor.Error InvalidConfig.
func (r *MonitorReader) List(ctx context.Context, q MonitorQuery) (MonitorPage, error) {
	if err := q.check(); err != nil {
		return MonitorPage{}, err
	}
	limit := q.Limit
	q.Limit++ // one more shows whether there is a next page
	monitors, total, err := r.store.List(ctx, q)
	if err != nil {
		return MonitorPage{}, fmt.Errorf("list monitors: %w", err)
	}
	page := MonitorPage{Monitors: monitors, Total: total}
	if len(monitors) > limit {
		page.Monitors = monitors[:limit]
		if last := monitors[limit-1]; q.Ended {
			page.NextEnded = EndedPlace{last.EndedAt, last.ID}
		} else {
			page.Next = last.Seq
		}
	}
	return page, nil
}

func (q MonitorQuery) check() error {
	if err := checkPage(q.Limit, q.Offset); err != nil {
		return err
	}
	if q.ChannelID != "" && !monitor.IsUUID(q.ChannelID) {
		return monitor.Errorf(monitor.InvalidConfig, "channel_id is %.60q; accepted is a UUID", q.ChannelID)
	}
	if !q.Ended && (!q.EndedFrom.IsZero() || !q.EndedTo.IsZero()) {
		return monitor.Errorf(monitor.InvalidConfig, "ended_from and ended_to are accepted with ended=true alone")
	}
	if !q.EndedTo.IsZero() && !q.EndedFrom.Before(q.EndedTo) {
		return monitor.Errorf(monitor.InvalidConfig, "ended_from is not before ended_to")
	}
	if (q.Before > 0 || q.BeforeEnd.ID != "") && q.Offset > 0 {
		return monitor.Errorf(monitor.InvalidConfig, "offset is not accepted with after: after says where the page begins")
	}
	if len(q.Text) > MaxSearchText || !utf8.ValidString(q.Text) || strings.ContainsRune(q.Text, 0) {
		return monitor.Errorf(monitor.InvalidConfig, "q is %.40q; accepted is a text of at most %d bytes in UTF-8, without NUL", q.Text, MaxSearchText)
	}
	if q.Status == "" {
		return nil
	}
	_, err := monitor.ParseStatus(string(q.Status))
	return err
}
