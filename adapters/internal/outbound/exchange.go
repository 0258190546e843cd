package outbound

import (
	"net/http"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// maxContentType is how much of a response's Content-Type is kept, in bytes.
const maxContentType = 200

// newExchange describes a request. Of the URL it keeps scheme and host, because receivers
// keep tokens in path and query; of the headers those that are no credentials.
func newExchange(req *http.Request) *event.Exchange {
	e := &event.Exchange{URL: req.URL.Scheme + "://" + req.URL.Host, Header: make(map[string]string, len(req.Header))}
	for name := range req.Header {
		if name != "Authorization" {
			e.Header[name] = req.Header.Get(name)
		}
	}
	if req.URL.Path != "" && req.URL.Path != "/" || req.URL.RawQuery != "" {
		e.URL += "/…"
	}
	return e
}

// newAnswer describes a response by its Content-Type and the beginning of its body.
func newAnswer(contentType, body string) *event.Answer {
	return &event.Answer{
		ContentType: asText(contentType, maxContentType),
		Truncated:   len(body) > event.MaxExchangeBody,
		Body:        asText(body, event.MaxExchangeBody),
	}
}

// asText cuts what a server sent to a number of bytes that PostgreSQL can store as text.
func asText(s string, most int) string {
	s = s[:min(len(s), most)]
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
