package httpapi

import (
	"crypto/tls"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// LoadCertificate returns a function that returns the certificate for a new connection.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (get func() *tls.Certificate, err error) {
	c, err := loadCertificate(certFile, keyFile, log)
	if err != nil {
		return nil, err
	}
	return func() *tls.Certificate {
		shown, err := c.get(nil)
		if err != nil {
			panic(err)
		}
		return shown
	}, nil
}

// WriteFeed writes messages to a reader of the feed.
func WriteFeed(w http.ResponseWriter, sse bool, messages ...feed.Message) error {
	c, _ := gin.CreateTestContext(w)
	return newFeedWriter(c, sse).write(messages)
}

// Routes returns the rows of the table.
func (a *API) Routes() (rows []Route) {
	for _, r := range a.table {
		rows = append(rows, Route{r.method, r.path, r.right, r.action, r.rate, r.internal()})
	}
	return rows
}

// Route has the columns of a row that the tests compare.
type Route struct {
	Method, Path string
	Right        access.Right
	Action       string
	Rate         monitors.RateLimit
	Internal     bool
}
