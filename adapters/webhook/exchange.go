package webhook

import (
	"io"
	"net/http"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// maxContentType is how much of a response's Content-Type is kept, in bytes.
const maxContentType = 200

// newExchange describes a signed request. Of the URL it keeps scheme and host, because
// receivers keep tokens in path and query.
func newExchange(req *http.Request) *event.Exchange {
	e := &event.Exchange{URL: req.URL.Scheme + "://" + req.URL.Host, Header: make(map[string]string, len(req.Header))}
	for name := range req.Header {
		e.Header[name] = req.Header.Get(name)
	}
	if req.URL.Path != "" && req.URL.Path != "/" || req.URL.RawQuery != "" {
		e.URL += "/…"
	}
	return e
}

// readAnswer reads the beginning of a response's body. Unreadable bytes count as not
// sent: the status has decided already.
func readAnswer(res *http.Response) *event.Answer {
	body, _ := io.ReadAll(io.LimitReader(res.Body, event.MaxExchangeBody+1))
	answer := &event.Answer{ContentType: asText(res.Header.Get("Content-Type"), maxContentType)}
	answer.Truncated = len(body) > event.MaxExchangeBody
	answer.Body = asText(string(body), event.MaxExchangeBody)
	return answer
}

// asText cuts what a receiver sent to a number of bytes that PostgreSQL can store as text.
func asText(s string, most int) string {
	s = s[:min(len(s), most)]
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
