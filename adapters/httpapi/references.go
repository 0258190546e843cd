package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// referenceHandlers answers the requests about the pictures that detectors look for (section 17.6).
type referenceHandlers struct {
	*responder

	service *references.Service
}

type referenceListBody struct {
	References []references.Record `json:"references"`
}

// body returns a record with its time in the zone of responses.
func (h referenceHandlers) body(r references.Record) references.Record {
	r.CreatedAt = h.localTime(r.CreatedAt)
	return r
}

func ofMonitor(c *gin.Context) (references.Owner, error) {
	id, err := monitorID(c)
	return references.Owner{Monitor: id}, err
}

func ofChannel(c *gin.Context) (references.Owner, error) {
	id, err := channelID(c)
	return references.Owner{Channel: id}, err
}

// list is GET …/references of a monitor or a channel.
func (h referenceHandlers) list(c *gin.Context, o references.Owner) error {
	list, err := h.service.List(c.Request.Context(), o)
	return h.reply(c, referenceListBody{each(list, h.body)}, err)
}

// add is POST …/references. The body is the picture.
func (h referenceHandlers) add(c *gin.Context, o references.Owner) error {
	query, err := readQuery(c, "name", "unwanted", "similarity")
	if err != nil {
		return err
	}
	record, err := readReference(query)
	if err != nil {
		return err
	}
	image, err := readBytes(c, "image/jpeg", "image/png")
	if err != nil {
		return err
	}
	added, err := h.service.Add(c.Request.Context(), o, record, image)
	if err != nil {
		return err
	}
	changed(c, added.ID)
	h.write(c, http.StatusCreated, h.body(added))
	return nil
}

// readReference reads what an upload says of its picture.
func readReference(query url.Values) (references.Record, error) {
	r := references.Record{Name: query.Get("name"), Unwanted: detector.AfterStart, Similarity: detector.DefaultSimilarity}
	if query.Has("unwanted") {
		r.Unwanted = detector.Unwanted(query.Get("unwanted"))
	}
	if given := query.Get("similarity"); query.Has("similarity") {
		number, err := strconv.ParseFloat(given, 64)
		if err != nil {
			return r, refusef(monitor.InvalidConfig, "similarity is %.40q; accepted is a number", given)
		}
		r.Similarity = number
	}
	return r, nil
}

// remove is DELETE …/references/{reference_id}.
func (h referenceHandlers) remove(c *gin.Context, o references.Owner) error {
	reference, err := referenceID(c)
	if err != nil {
		return err
	}
	err = h.service.Remove(c.Request.Context(), o, reference)
	return h.reply(c, struct {
		ReferenceID string `json:"reference_id"`
	}{reference}, err)
}

// image is GET …/references/{reference_id}/image. The bytes may be hostile, so the headers let a browser treat them only
// as a picture. They never change.
func (h referenceHandlers) image(c *gin.Context, o references.Owner) error {
	reference, err := referenceID(c)
	if err != nil {
		return err
	}
	mediaType, image, err := h.service.Image(c.Request.Context(), o, reference)
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; sandbox")
	c.Header("Cache-Control", "private, max-age=86400, immutable")
	c.Data(http.StatusOK, mediaType, image)
	return nil
}
