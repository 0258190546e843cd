package outbound

import (
	"net/http"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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
		ContentType: monitor.StorableText(contentType, maxContentType),
		Truncated:   len(body) > event.MaxExchangeBody,
		Body:        monitor.StorableText(body, event.MaxExchangeBody),
	}
}
