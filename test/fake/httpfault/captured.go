package httpfault

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
)

// captured is an answer kept back.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func capture(r *http.Request, next http.Handler) *captured {
	c := &captured{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(c, r)
	return c
}

func (c *captured) Header() http.Header         { return c.header }
func (c *captured) WriteHeader(status int)      { c.status = status }
func (c *captured) Write(p []byte) (int, error) { return c.body.Write(p) }

// head announces the whole answer.
func (c *captured) head(w http.ResponseWriter) {
	maps.Copy(w.Header(), c.header)
	w.Header().Set("Content-Length", strconv.Itoa(c.body.Len()))
	w.WriteHeader(c.status)
}
