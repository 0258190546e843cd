package httpapi

import (
	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// of makes a handler of one that gets the id in the path.
func of[ID any](read func(*gin.Context) (ID, error), handle func(*gin.Context, ID) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := read(c)
		if err != nil {
			return err
		}
		return handle(c, id)
	}
}

func monitorID(c *gin.Context) (monitor.ID, error) { return monitor.ParseID(c.Param("monitor_id")) }

func evidenceID(c *gin.Context) (evidence.ID, error) { return evidence.ParseID(c.Param("evidence_id")) }

var (
	channelID     = uuidOf("channel_id", channels.NotFound, "channel")
	deliveryID    = uuidOf("delivery_id", routing.DeliveryNotFound, "delivery to a destination")
	destinationID = uuidOf("destination_id", routing.DestinationNotFound, "destination")
	jarID         = uuidOf("jar_id", cookiejars.NotFound, "cookie jar")
	loginID       = uuidOf("login_id", ingests.NotFound, "login of an owner")
	keyID         = uuidOf("key_id", keyring.KeyNotFound, "key")
	overrideID    = uuidOf("override_id", routing.OverrideNotFound, "override")
	referenceID   = uuidOf("reference_id", references.NotFound, "reference")
	routeID       = uuidOf("route_id", routing.RouteNotFound, "route")
	silenceID     = uuidOf("silence_id", routing.SilenceNotFound, "silence")
)

// uuidOf returns what reads the id of a path. An id that is no UUID does not exist.
func uuidOf(parameter string, missing monitor.Code, noun string) func(*gin.Context) (string, error) {
	return func(c *gin.Context) (string, error) {
		id := c.Param(parameter)
		if !monitor.IsUUID(id) {
			return "", refusef(missing, "no %s has the id %.60q", noun, id)
		}
		return id, nil
	}
}
