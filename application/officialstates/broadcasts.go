package officialstates

import (
	"context"
	"errors"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Broadcasts implements channels.BroadcastsAPI.
func (s *Service) Broadcasts(ctx context.Context, places []monitor.StreamURL) (map[monitor.StreamURL]string, error) {
	live := map[monitor.StreamURL]string{}
	for asked := range slices.Chunk(places, s.PerCall) {
		var ids []string
		for _, place := range asked {
			ids = append(ids, place.ID())
		}
		response := s.api.Ask(ctx, ids)
		if failure := response.Failure(); failure != nil {
			return nil, errors.New(failure.Detail)
		}
		for _, v := range response.Broadcasts {
			live[asked[slices.Index(ids, v.ID)]] = v.BroadcastID
		}
	}
	return live, nil
}
