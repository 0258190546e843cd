package monitorstest

import (
	"cmp"
	"context"
	"slices"

	"github.com/stream-monitor/stream-monitor/application/monitors"
)

// Deliveries implements monitors.EventStore. No event belongs to an incident.
func (s *Store) Deliveries(ctx context.Context, q monitors.DeliveryQuery) (all []monitors.DeliveryRecord, err error) {
	err = s.transaction(ctx, "Deliveries", func() error {
		for _, m := range s.monitors {
			for _, r := range s.Records[m.ID] {
				d := monitors.DeliveryRecord{
					EventID: &r.EventID, EventType: &r.EventType, MonitorID: &m.ID, StreamURL: &m.StreamURL, CreatedAt: r.CreatedAt, State: monitors.DeliveryState(r.Status),
					Tried: len(r.Attempts), DeliveredAt: r.SentAt, LastError: r.LastError, LongSchedule: r.LongSchedule, Body: string(r.Payload), Attempts: r.Attempts,
				}
				if r.Status == "sent" {
					d.State = monitors.DeliveryDelivered
				}
				if q.MonitorID != "" && q.MonitorID != m.ID || q.EventID != "" && q.EventID != r.EventID ||
					q.IncidentID != "" || q.State != "" && q.State != d.State {
					continue
				}
				all = append(all, d)
			}
		}
		return nil
	})
	place := func(d monitors.DeliveryRecord) monitors.DeliveryPlace {
		return monitors.DeliveryPlace{CreatedAt: d.CreatedAt, ID: d.ID()}
	}
	newestFirst := func(a, b monitors.DeliveryPlace) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	}
	slices.SortFunc(all, func(a, b monitors.DeliveryRecord) int { return newestFirst(place(a), place(b)) })
	if !q.Before.CreatedAt.IsZero() {
		all = slices.DeleteFunc(all, func(d monitors.DeliveryRecord) bool { return newestFirst(q.Before, place(d)) >= 0 })
	}
	return all[:min(len(all), q.Limit)], err
}
