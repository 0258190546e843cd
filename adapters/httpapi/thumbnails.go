package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"mime"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// thumbnailHandlers answers the requests about thumbnails (section 17.2).
type thumbnailHandlers struct {
	*responder

	service *evidences.Thumbnails
}

type leaseBody struct {
	ExpiresInSec int `json:"expires_in_sec"`
}

// watch is POST /api/v1/thumbnails/watch.
func (h thumbnailHandlers) watch(c *gin.Context) error {
	body, err := readFields(c, "monitor_ids")
	if err != nil {
		return err
	}
	if err := body.err(); err != nil {
		return err
	}
	var ids []monitor.ID
	if err := json.Unmarshal(body.fields["monitor_ids"], &ids); err != nil {
		return refusef(monitor.InvalidConfig, "monitor_ids is no array of texts; accepted are 1 to %d ids of monitors", evidences.MaxThumbnailMonitors)
	}
	if err := h.service.Watch(c.Request.Context(), ids); err != nil {
		return err
	}
	h.write(c, http.StatusOK, leaseBody{int(evidences.ThumbnailLease / time.Second)})
	return nil
}

// read is GET /api/v1/monitors/{monitor_id}/thumbnail. The bytes come from a stream, which
// may be hostile, so the headers let a browser treat them only as a picture.
func (h thumbnailHandlers) read(c *gin.Context, id monitor.ID) error {
	t, err := h.service.GetThumbnail(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.Header("Content-Type", "image/jpeg")
	c.Header("Content-Security-Policy", "default-src 'none'; sandbox")
	c.Header("Cache-Control", "private, no-cache")
	c.Header("ETag", fmt.Sprintf(`"%d"`, t.TakenAt.UnixMicro()))
	c.Header("X-Taken-At", h.localTime(t.TakenAt).Format(time.RFC3339Nano))
	c.Request.Header.Del("Range") // half a picture is of no use
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, bytes.NewReader(t.JPEG))
	return nil
}

type wantedBody struct {
	ThumbnailWanted bool `json:"thumbnail_wanted"`
}

// put is PUT /internal/v1/monitors/{monitor_id}/thumbnail.
func (h thumbnailHandlers) put(c *gin.Context, id monitor.ID) error {
	query, err := readQuery(c, "generation", "taken_at")
	if err != nil {
		return err
	}
	generation, err := readGeneration(c, query)
	if err != nil {
		return err
	}
	takenAt, err := readTakenAt(query)
	if err != nil {
		return err
	}
	jpeg, err := readThumbnail(c)
	if err != nil {
		return err
	}
	wanted, err := h.service.AddThumbnail(c.Request.Context(), id, generation, takenAt, jpeg)
	return h.reply(c, wantedBody{wanted}, err)
}

// readThumbnail reads a JPEG within the limits. It decodes the header only.
func readThumbnail(c *gin.Context) ([]byte, error) {
	if media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || media != "image/jpeg" {
		return nil, refusef(unsupportedMedia, "Content-Type is %.60q; accepted is image/jpeg", c.GetHeader("Content-Type"))
	}
	raw, err := readBytes(c, "image/jpeg")
	if err != nil {
		return nil, err
	}
	size, err := jpeg.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return nil, refusef(monitor.InvalidConfig, "the body is no JPEG")
	}
	if size.Width > evidences.MaxThumbnailWidth || size.Height > evidences.MaxThumbnailHeight {
		return nil, refusef(monitor.InvalidConfig, "the picture has %d x %d pixels; accepted are at most %d x %d", size.Width, size.Height, evidences.MaxThumbnailWidth, evidences.MaxThumbnailHeight)
	}
	return raw, nil
}
