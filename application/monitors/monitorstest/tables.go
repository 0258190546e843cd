package monitorstest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// database holds the monitors of a Store, and runs one of its methods after the other.
type database struct {
	// Fail, if set, is called first by every method of a port. Its error is the
	// method's; it may also panic or block. op is the method's name.
	Fail func(ctx context.Context, op string) error

	mu       sync.Mutex
	monitors monitorList
}

func (d *database) transaction(ctx context.Context, op string, run func() error) error {
	if d.Fail != nil {
		if err := d.Fail(ctx, op); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return run()
}

// onMonitor runs a method on one monitor, and returns the monitor as it is then.
func (d *database) onMonitor(ctx context.Context, op string, id monitor.ID, run func(*monitor.Monitor) error) (m monitor.Monitor, err error) {
	err = d.transaction(ctx, op, func() error {
		stored, err := d.monitors.find(id)
		if err != nil {
			return err
		}
		if err := run(stored); err != nil {
			return err
		}
		m = *stored
		return nil
	})
	return m, err
}

// Update changes a stored monitor. It panics if the monitor is unknown.
func (d *database) Update(id monitor.ID, change func(*monitor.Monitor)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.monitors.find(id)
	if err != nil {
		panic(err)
	}
	change(m)
}

// monitorList holds monitors, the oldest first.
type monitorList []monitor.Monitor

func (l monitorList) find(id monitor.ID) (*monitor.Monitor, error) {
	for i := range l {
		if l[i].ID == id {
			return &l[i], nil
		}
	}
	return nil, monitor.Errorf(monitor.NotFound, "there is no monitor %s", id)
}

// matches reports whether a monitor matches the filters of a query.
func matches(m monitors.ListedMonitor, q monitors.MonitorQuery) bool {
	text := strings.ToLower(string(m.StreamURL) + "\n" + string(m.ID) + "\n" + string(m.Metadata))
	return (q.Status == "" || m.Status == q.Status) &&
		(!q.Trouble || m.Incident != nil || m.Status.Active() && (m.Health.Video.Bad() || m.Health.Audio.Bad())) &&
		(!q.Blind || !m.Visibility.BlindSince.IsZero()) &&
		(!q.Live || m.StreamStatus == monitor.StreamLive && m.Status.Active()) &&
		strings.Contains(text, strings.ToLower(q.Text))
}

// insert refuses a second active monitor of a stream, and more active monitors than
// limit. No number becomes free again.
func (l *monitorList) insert(m monitor.Monitor, limit int) error {
	active := 0
	for _, other := range *l {
		if !other.Status.Active() {
			continue
		}
		active++
		if other.StreamURL == m.StreamURL {
			return monitor.DuplicateOf(m.StreamURL, other.ID)
		}
	}
	if active >= limit {
		return monitor.TooMany(active, limit)
	}
	m.Number = len(*l) + 1
	*l = append(*l, m)
	return nil
}

// eventRecords holds the events of each monitor, the oldest first.
type eventRecords map[monitor.ID][]monitors.EventRecord

// add stores a pending event once.
func (r *eventRecords) add(m monitor.Monitor, e event.Event) {
	if *r == nil {
		*r = eventRecords{}
	}
	for _, stored := range (*r)[m.ID] {
		if stored.EventID == e.ID {
			return
		}
	}
	payload, err := event.NewPayload(e, string(m.ID), string(m.StreamURL), m.Metadata, time.UTC).Encode()
	if err != nil {
		panic(err)
	}
	(*r)[m.ID] = append((*r)[m.ID], monitors.EventRecord{
		EventID: e.ID, EventType: e.Type, Payload: json.RawMessage(payload), Status: "pending", CreatedAt: e.At,
	})
}
