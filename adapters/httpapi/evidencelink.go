package httpapi

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// downloadTimeout bounds one download: a clip of 20 MiB over 0.5 Mbit/s.
const downloadTimeout = 5 * time.Minute

type linkBody struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// ttlSetting is the field ttl_sec.
var ttlSetting = monitor.Setting{
	Field: "ttl_sec", Whole: true, Min: evidence.MinLinkTTL.Seconds(), Max: evidence.MaxLinkTTL.Seconds(),
}

// link is POST /api/v1/evidence/{evidence_id}/link (section 16.2).
func (h evidenceHandlers) link(c *gin.Context, id evidence.ID) error {
	body, err := readFields(c, "variant", "ttl_sec")
	if err != nil {
		return err
	}
	var name string
	body.text("variant", &name)
	ttl := evidence.DefaultLinkTTL
	if sec, given := body.number(ttlSetting); given {
		ttl = time.Duration(sec) * time.Second
	}
	if err := body.err(); err != nil {
		return err
	}
	if name == "" {
		return refusef(monitor.InvalidConfig, "variant is missing; accepted are %v", evidence.Variants())
	}
	v, err := evidence.ParseVariant(name)
	if err != nil {
		return err
	}
	link, err := h.service.Link(c.Request.Context(), id, v, ttl)
	return h.reply(c, linkBody{link.URL(h.publicURL), h.localTime(link.ExpiresAt)}, err)
}

// readLink reads the link that a request uses. It does not check the parts: whatever no
// gateway has signed is LinkInvalid, so that a stranger learns nothing else.
func readLink(c *gin.Context) (evidence.Link, error) {
	query := c.Request.URL.Query()
	expires, err := strconv.ParseInt(query.Get("expires"), 10, 64)
	if err != nil {
		return evidence.Link{}, refusef(evidence.LinkInvalid, "this is not a whole link; ask for a new one")
	}
	return evidence.Link{
		EvidenceID: evidence.ID(c.Param("evidence_id")),
		Variant:    evidence.Variant(c.Param("variant")),
		ExpiresAt:  time.Unix(expires, 0),
		KeyID:      query.Get("key"),
		Signature:  query.Get("signature"),
	}, nil
}

// download is GET /evidence/{evidence_id}/{variant} (section 16.2). The
// signature is the only permission that it needs, and is checked before anything else.
func (h evidenceHandlers) download(c *gin.Context) error {
	link, err := readLink(c)
	if err != nil {
		return err
	}
	d, err := h.service.Open(c.Request.Context(), link)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // it has been read
	// The deadline of the server is for small answers. A recorder in a test has none.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(downloadTimeout))
	if err := checkRange(c, d.File.Size); err != nil {
		return err
	}
	c.Header("Content-Type", d.File.Variant.MediaType())
	c.Header("Content-Disposition", fmt.Sprintf("inline; filename=%q", d.File.Variant.FileName(link.EvidenceID)))
	c.Header("Content-Security-Policy", "default-src 'none'; sandbox")
	c.Header("Referrer-Policy", "no-referrer") // the URL is a permission
	c.Header("Cache-Control", fmt.Sprintf("private, max-age=%d", int(d.TTL.Seconds())))
	c.Header("ETag", `"`+d.File.Digest.String()+`"`)
	body := &failingReader{ReadSeeker: d}
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, body)
	if body.err != nil && c.Request.Context().Err() == nil {
		log := h.log.With("evidence_id", string(link.EvidenceID), "variant", string(link.Variant))
		h.failures.log(log, slog.LevelWarn, "download of evidence was cut, its caller may repeat it: check the blob store of EVIDENCE_STORE", c.FullPath(), body.err)
	}
	return nil
}

// rangeForm matches one range. A list of ranges is answered with the whole file, as
// RFC 9110 (14.2) allows: each of them would open the blob again.
var rangeForm = regexp.MustCompile(`^bytes=([0-9]{0,18})-([0-9]{0,18})$`)

// checkRange refuses a range beyond the end, in the envelope of section 3.5 that
// ServeContent does not know. It removes a Range that is to be ignored.
func checkRange(c *gin.Context, size int64) error {
	given := c.GetHeader("Range")
	if given == "" {
		return nil
	}
	parts := rangeForm.FindStringSubmatch(given)
	if parts == nil || parts[1] == "" && parts[2] == "" {
		c.Request.Header.Del("Range")
		return nil
	}
	first, _ := strconv.ParseInt(parts[1], 10, 64) // digits, or nothing
	last, _ := strconv.ParseInt(parts[2], 10, 64)
	switch {
	case parts[1] != "" && parts[2] != "" && first > last:
		c.Request.Header.Del("Range")
	case parts[1] == "" && last == 0, first >= size:
		c.Header("Content-Range", fmt.Sprintf("bytes */%d", size))
		return refusef(rangeNotSatisfiable, "Range is %.40q; the file has %d bytes", given, size)
	}
	return nil
}

// failingReader keeps the error of a failed Read, because ServeContent does not return it.
type failingReader struct {
	io.ReadSeeker

	err error
}

// Read implements io.Reader.
func (r *failingReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
