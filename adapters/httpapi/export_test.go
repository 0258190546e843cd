package httpapi

import (
	"crypto/tls"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

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

// PermittedRoutes returns the routes that have a permission.
func PermittedRoutes() []string { return slices.Collect(maps.Keys(permissions)) }
