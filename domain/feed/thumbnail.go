package feed

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// ThumbnailUpdated is the type of a message that only readers get who ask for it.
const ThumbnailUpdated Type = "thumbnail.updated"

// Thumbnail is the data of thumbnail.updated: a monitor has a newer thumbnail (section
// 17.2). It is not stored.
type Thumbnail struct {
	MonitorID monitor.ID `json:"monitor_id"`
	TakenAt   time.Time  `json:"taken_at"`
}

// NewThumbnail returns the data with its time in UTC, to the millisecond.
func NewThumbnail(id monitor.ID, takenAt time.Time) Thumbnail {
	return Thumbnail{id, wire.Time(takenAt, time.UTC)}
}

// Type implements Data.
func (Thumbnail) Type() Type { return ThumbnailUpdated }
