package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MonitorLife is when a monitor was active, and what is not in its history yet because
// it lasts.
type MonitorLife struct {
	CreatedAt, EndedAt time.Time // EndedAt is zero while the monitor is active
	Current            history.Current
}

// life returns the time in which the monitor could be watched.
func (m MonitorLife) life(now time.Time) history.Life {
	if m.EndedAt.IsZero() {
		return history.Life{From: m.CreatedAt, Until: now}
	}
	return history.Life{From: m.CreatedAt, Until: m.EndedAt}
}

// Selection says of which monitors a history is summed up. The zero value selects all.
type Selection struct {
	MonitorID monitor.ID     // alone
	Labels    monitor.Labels // of those that have all of these
}

// Visitor is called with each row of a history as it is read, so that a history of
// any length takes the memory of one row. Begin is called first and once.
type Visitor struct {
	Begin  func(MonitorLife)
	Span   func(history.Span)
	Minute func(monitor.Minute)
}

// Broadcasts has the times at which the broadcasts of a monitor started and ended.
type Broadcasts struct {
	MonitorLife

	Started, Ended []time.Time
}

// Store reads the history of monitors. Each method reads one snapshot, blocks
// for a few exchanges and may be called concurrently. Errors of a method that takes
// the ID of one monitor: *monitor.Error NotFound.
type Store interface {
	// MonitorHistory passes the rows that overlap the time between from and to. If width
	// is more than a minute, it passes one merged minute for each width since from. If
	// width is history.MergedLength or more, minutes that are stored merged count as one
	// that begins with the first of them.
	MonitorHistory(ctx context.Context, id monitor.ID, from, to time.Time, width time.Duration, v Visitor) error

	// SumHistory adds the spans that statistics count, the alerts and the incidents of
	// monitors to sum. Open spans are closed at now, or at the end of their monitor.
	SumHistory(ctx context.Context, of Selection, now time.Time, sum *history.Summary) error

	// LabelValues returns the value of a label of those of the monitors that have it.
	LabelValues(ctx context.Context, label string, ids []monitor.ID) (map[monitor.ID]string, error)

	// Broadcasts reads the newest broadcasts of a monitor, at most 1,000.
	Broadcasts(ctx context.Context, id monitor.ID) (Broadcasts, error)
}

// Service answers questions about the history of monitors (section 16.3).
type Service struct {
	store Store
	now   func() time.Time

	timelines, sums wait.Slots
}

// Limits of questions that are answered at the same time; others wait. Each takes a
// connection to the database, of which the reports of workers need some.
const (
	maxTimelines = 4
	maxSums      = 2 // statistics and sessions: those of all monitors read for a second
)

// NewService returns a Service. now may be nil: time.Now.
func NewService(store Store, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{store, now, make(wait.Slots, maxTimelines), make(wait.Slots, maxSums)}
}

// Defaults of a timeline.
const (
	DefaultTimeline = 24 * time.Hour
	DefaultBuckets  = 288
)

// Timeline is the history of one monitor in buckets of equal length.
type Timeline struct {
	From, To time.Time
	Buckets  []history.Bucket
}

// Timeline divides the time from from until to into buckets. A zero to is now, a zero
// from is 24 hours before to, 0 buckets are 288. Errors: *monitor.Error InvalidConfig,
// NotFound.
func (h *Service) Timeline(ctx context.Context, id monitor.ID, from, to time.Time, buckets int) (Timeline, error) {
	now := h.now()
	from, to, err := h.span(from, to, now)
	if err != nil {
		return Timeline{}, err
	}
	if buckets == 0 {
		buckets = DefaultBuckets
	}
	if buckets < 1 || buckets > history.MaxBuckets || to.Sub(from) < time.Duration(buckets)*time.Millisecond {
		return Timeline{}, monitor.Errorf(monitor.InvalidConfig, "buckets is %d; accepted is 1 to %d, of at least 1 ms each", buckets, history.MaxBuckets)
	}
	release, err := h.timelines.Take(ctx)
	if err != nil {
		return Timeline{}, fmt.Errorf("wait for other timelines: %w", err)
	}
	defer release()
	var timeline *history.Timeline
	err = h.store.MonitorHistory(ctx, id, from, to, to.Sub(from)/time.Duration(buckets), Visitor{
		Begin: func(m MonitorLife) {
			life := m.life(now)
			timeline = history.NewTimeline(from, to, buckets, life)
			for _, span := range history.Close(m.Current, life.Until) {
				timeline.AddSpan(span)
			}
		},
		Span:   func(s history.Span) { timeline.AddSpan(s) },
		Minute: func(m monitor.Minute) { timeline.AddMinute(m) },
	})
	if err != nil {
		return Timeline{}, fmt.Errorf("read a timeline: %w", err)
	}
	return Timeline{from, to, timeline.Buckets()}, nil
}

// maxHistorySpan limits the time of one question.
const maxHistorySpan = 366 * 24 * time.Hour

// span completes and checks the time of a question.
func (h *Service) span(from, to, now time.Time) (time.Time, time.Time, error) {
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-DefaultTimeline)
	}
	if err := errors.Join(monitor.ValidTime("from", from), monitor.ValidTime("to", to)); err != nil {
		return from, to, err
	}
	if !from.Before(to) || to.Sub(from) > maxHistorySpan {
		return from, to, monitor.Errorf(monitor.InvalidConfig, "from is %s and to is %s; accepted is a from before to, by at most 366 days",
			from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, nil
}

// StatisticsQuery asks for totals.
type StatisticsQuery struct {
	Selection

	By       history.Unit   // required
	Zone     *time.Location // of days and hours; required
	From, To time.Time      // widened to whole periods; defaults as those of Timeline
	Group    string         // a label, whose values are summed up; empty: none
}

// Statistics has the totals of periods.
type Statistics struct {
	Periods []history.Period
	*history.Summary

	Groups map[string]history.Totals // by the value of the label; "": of monitors without it. nil: none was asked for
}

// Statistics sums up the history in hours or days. Errors: *monitor.Error
// InvalidConfig, and NotFound if the query names a monitor.
func (h *Service) Statistics(ctx context.Context, q StatisticsQuery) (Statistics, error) {
	if q.By != history.Hour && q.By != history.Day {
		return Statistics{}, monitor.Errorf(monitor.InvalidConfig, "by is %.40q; accepted is %s or %s", q.By, history.Hour, history.Day)
	}
	if q.MonitorID != "" && len(q.Labels) > 0 {
		return Statistics{}, monitor.Errorf(monitor.InvalidConfig, "label is given with monitor_id; leave out one of them")
	}
	if q.Group != "" {
		if err := monitor.Join(monitor.Labels{q.Group: "any"}.Check("group")...); err != nil {
			return Statistics{}, err
		}
	}
	now := h.now()
	from, to, err := h.span(q.From, q.To, now)
	if err != nil {
		return Statistics{}, err
	}
	periods := history.Periods(q.By, q.Zone, from, to)
	if len(periods) > history.MaxPeriods {
		return Statistics{}, monitor.Errorf(monitor.InvalidConfig, "from and to are more than %d hours apart; ask by=day, or for less", history.MaxPeriods)
	}
	sum := history.NewSummary(periods)
	if err := h.sum(ctx, q.Selection, now, sum); err != nil {
		return Statistics{}, fmt.Errorf("read statistics: %w", err)
	}
	found := Statistics{Periods: periods, Summary: sum}
	if q.Group != "" {
		values, err := h.store.LabelValues(ctx, q.Group, sum.MonitorIDs())
		if err != nil {
			return Statistics{}, fmt.Errorf("read labels for statistics: %w", err)
		}
		found.Groups = sum.Groups(values)
	}
	return found, nil
}

// sum adds the history of monitors to sum.
func (h *Service) sum(ctx context.Context, of Selection, now time.Time, sum *history.Summary) error {
	release, err := h.sums.Take(ctx)
	if err != nil {
		return fmt.Errorf("wait for other statistics: %w", err)
	}
	defer release()
	return h.store.SumHistory(ctx, of, now, sum)
}

// Sessions returns the newest broadcasts of a monitor, newest first, each with its
// totals. Errors: *monitor.Error NotFound.
func (h *Service) Sessions(ctx context.Context, id monitor.ID) ([]history.Session, error) {
	found, err := h.store.Broadcasts(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	if len(found.Started) == 0 {
		return nil, nil
	}
	now := h.now()
	sessions, periods := history.Sessions(found.Started, found.Ended, found.life(now), found.EndedAt.IsZero())
	sum := history.NewSummary(periods)
	if err := h.sum(ctx, Selection{MonitorID: id}, now, sum); err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	for i := range sessions {
		sessions[i].Totals = sum.Periods[i]
	}
	slices.Reverse(sessions)
	return sessions, nil
}
