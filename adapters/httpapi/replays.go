package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// replayHandlers makes deliveries to destinations again (section 19.4).
type replayHandlers struct {
	*responder

	service *routing.ReplayService
}

type replayBody struct {
	DeliveryID string `json:"delivery_id"`
	State      string `json:"state"`
}

// one is POST /api/v1/deliveries/{delivery_id}/replay.
func (h replayHandlers) one(c *gin.Context, id string) error {
	if err := h.service.Replay(c.Request.Context(), id); err != nil {
		return err
	}
	h.write(c, http.StatusOK, replayBody{id, "pending"})
	return nil
}

type replayedBody struct {
	Replayed int `json:"replayed"`
}

// failed is POST /api/v1/deliveries/replay.
func (h replayHandlers) failed(c *gin.Context) error {
	since, destination, err := readReplay(c)
	if err != nil {
		return err
	}
	if destination != "" {
		changed(c, destination)
	}
	replayed, err := h.service.ReplayFailed(c.Request.Context(), since, destination)
	return h.reply(c, replayedBody{replayed}, err)
}

// readReplay reads since when and at which destination deliveries are made again; an empty
// destinationID selects all.
func readReplay(c *gin.Context) (since time.Time, destinationID string, err error) {
	o, err := readFields(c, "since", "destination_id")
	if err != nil {
		return since, "", err
	}
	o.missing("since")
	var given *time.Time
	o.timestamp("since", &given)
	if given == nil && !o.refuses("since") {
		o.refuse("since", "an ISO 8601 time with an offset, such as 2024-01-15T20:00:00+09:00")
	}
	wrong := []error{}
	if given != nil {
		wrong = append(wrong, monitor.ValidTime("since", *given))
	}
	id := o.string("destination_id")
	if id == nil {
		id = new("")
	} else if !monitor.IsUUID(*id) {
		o.refuse("destination_id", "the id of a destination")
	}
	if err := monitor.Join(append(wrong, o.err())...); err != nil {
		return since, "", err
	}
	return *given, *id, nil
}
