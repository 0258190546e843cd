package routing

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Replayer makes deliveries to destinations due again. Each method blocks for one
// transaction and may be called concurrently, by several gateways.
type Replayer interface {
	// Replay makes a delivery due. Errors: *monitor.Error DeliveryNotFound.
	Replay(ctx context.Context, deliveryID string) error

	// ReplayFailed makes those due that have failed and were created since a time; an
	// empty destinationID selects all destinations that are enabled.
	ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayed int, err error)
}

// DeliveryNotFound is the code of a delivery that does not exist.
const DeliveryNotFound monitor.Code = "DELIVERY_NOT_FOUND"

// ReplayService makes deliveries to destinations again.
type ReplayService struct {
	Replayer

	destinations DestinationReader
}

// ReplayFailed makes all deliveries again that have failed and were created since a time.
// An empty destinationID selects all destinations that are enabled. Errors: *monitor.Error
// DestinationNotFound.
func (s *ReplayService) ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayed int, err error) {
	if destinationID != "" {
		if _, err := s.destinations.Destination(ctx, destinationID); err != nil {
			return 0, err
		}
	}
	return s.Replayer.ReplayFailed(ctx, since, destinationID)
}
