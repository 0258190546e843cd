package httpapi

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// uploadTimeout bounds one upload: a clip of 20 MiB over 3 Mbit/s.
const uploadTimeout = time.Minute

// recordParameters describe the record that an upload belongs to.
var recordParameters = []string{"generation", "event_id", "condition", "phase", "unclear", "note"}

// putRecord is PUT /internal/v1/monitors/{monitor_id}/evidence/{evidence_id}
// (section 16.2): a record without a file, or a note for one that exists.
func (h evidenceHandlers) putRecord(c *gin.Context) error {
	query, err := readQuery(c, recordParameters...)
	if err != nil {
		return err
	}
	u, err := readUpload(c, query)
	if err != nil {
		return err
	}
	return h.add(c, u, nil)
}

// upload is POST /internal/v1/monitors/{monitor_id}/evidence/{evidence_id}/{variant}
// (section 16.2): one file, which is the body.
func (h evidenceHandlers) upload(c *gin.Context) error {
	query, err := readQuery(c, append(recordParameters, "sha256", "taken_at", "width", "height", "rendition_height", "measure")...)
	if err != nil {
		return err
	}
	u, err := readUpload(c, query)
	if err != nil {
		return err
	}
	if u.File, err = readFile(c, query); err != nil {
		return err
	}
	// The deadlines of the server are for small bodies. A recorder in a test has none.
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(uploadTimeout))
	_ = control.SetWriteDeadline(time.Now().Add(uploadTimeout + writeTimeout))
	return h.add(c, u, uploadBody{http.MaxBytesReader(c.Writer, c.Request.Body, u.File.Variant.MaxBytes())})
}

func (h evidenceHandlers) add(c *gin.Context, u evidence.Upload, body io.Reader) error {
	r, err := h.service.Add(c.Request.Context(), u, body)
	return h.reply(c, h.body(r), err)
}

// readUpload reads which record an upload belongs to.
func readUpload(c *gin.Context, query url.Values) (u evidence.Upload, err error) {
	if u.Record.MonitorID, err = monitor.ParseID(c.Param("monitor_id")); err != nil {
		return u, err
	}
	if u.Record.ID, err = evidence.ParseID(c.Param("evidence_id")); err != nil {
		return u, err
	}
	if u.Generation, err = readGeneration(c, query); err != nil {
		return u, err
	}
	if u.Unclear, err = readBool(query, "unclear", false); err != nil {
		return u, err
	}
	u.Record.EventID, u.Record.Condition = query.Get("event_id"), trouble.Name(query.Get("condition"))
	u.Record.Phase, u.Record.Note = evidence.Phase(query.Get("phase")), query.Get("note")
	return u, nil
}

// readFile reads the description of a file. Its size is the Content-Length.
func readFile(c *gin.Context, query url.Values) (*evidence.File, error) {
	v, err := evidence.ParseVariant(c.Param("variant"))
	if err != nil {
		return nil, err
	}
	if given := c.GetHeader("Content-Type"); given != "" {
		if media, _, err := mime.ParseMediaType(given); err != nil || media != v.MediaType() && media != "application/octet-stream" {
			return nil, refusef(unsupportedMedia, "Content-Type is %.60q; accepted for %s are %s and application/octet-stream", given, v, v.MediaType())
		}
	}
	size := c.Request.ContentLength
	switch {
	case size < 0:
		return nil, refusef(monitor.InvalidConfig, "Content-Length is missing; accepted for %s are 1 to %d bytes", v, v.MaxBytes())
	case size > v.MaxBytes():
		return nil, tooLarge(v.MaxBytes())
	}
	f := &evidence.File{Variant: v, Size: size}
	if f.Digest, err = evidence.ParseDigest(query.Get("sha256")); err != nil {
		return nil, err
	}
	if f.TakenAt, err = readTakenAt(query); err != nil {
		return nil, err
	}
	if f.Width, err = readInt(query, "width", 0); err != nil {
		return nil, err
	}
	if f.Height, err = readInt(query, "height", 0); err != nil {
		return nil, err
	}
	if f.RenditionHeight, err = readInt(query, "rendition_height", 0); err != nil {
		return nil, err
	}
	if query.Has("measure") {
		measure, err := strconv.ParseFloat(query.Get("measure"), 64)
		if err != nil {
			return nil, refusef(monitor.InvalidConfig, "measure is %.40q; accepted is a number", query.Get("measure"))
		}
		f.Measure = &measure
	}
	return f, nil
}

// uploadBody is a body whose Read returns errors that the worker may see.
type uploadBody struct{ io.Reader }

// Read implements io.Reader.
func (b uploadBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, cutBody(err)
}
