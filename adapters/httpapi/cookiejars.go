package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// cookieJarHandlers answers the requests about cookie jars (section 17.7). No answer has a cookie.
type cookieJarHandlers struct {
	*responder

	service *cookiejars.Service
}

type cookieJarListBody struct {
	CookieJars []cookieJarBody `json:"cookie_jars"`
}

type cookieJarBody struct {
	JarID      string               `json:"jar_id"`
	Name       string               `json:"name"`
	State      login.State          `json:"state"`
	Sources    []monitor.SourceName `json:"sources"`
	Cookies    int                  `json:"cookies"`
	SignedIn   bool                 `json:"signed_in"`
	Version    int                  `json:"version"`
	Monitors   int                  `json:"monitors"`
	Channels   int                  `json:"channels"`
	CreatedAt  time.Time            `json:"created_at"`
	UploadedAt time.Time            `json:"uploaded_at"`
	AcceptedAt *time.Time           `json:"accepted_at"`
	RejectedAt *time.Time           `json:"rejected_at"`
}

func (h cookieJarHandlers) body(r cookiejars.Record) cookieJarBody {
	return cookieJarBody{
		JarID: r.ID, Name: r.Name, State: r.State(), Sources: r.Sources, Cookies: r.Cookies, SignedIn: r.SignedIn, Version: r.Version, Monitors: r.Monitors, Channels: r.Channels,
		CreatedAt: h.localTime(r.CreatedAt), UploadedAt: h.localTime(r.UploadedAt),
		AcceptedAt: h.localTimeOrNull(&r.AcceptedAt), RejectedAt: h.localTimeOrNull(&r.RejectedAt),
	}
}

// list is GET /api/v1/cookie-jars.
func (h cookieJarHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	list, err := h.service.List(c.Request.Context())
	return h.reply(c, cookieJarListBody{each(list, h.body)}, err)
}

// create is POST /api/v1/cookie-jars. The body is the cookie file.
func (h cookieJarHandlers) create(c *gin.Context) error {
	query, err := readQuery(c, "name")
	if err != nil {
		return err
	}
	file, err := readBody(c, "text/plain", "application/octet-stream", formType)
	if err != nil {
		return err
	}
	created, err := h.service.Create(c.Request.Context(), query.Get("name"), string(file))
	if err != nil {
		return err
	}
	changed(c, created.ID)
	h.write(c, http.StatusCreated, h.body(created))
	return nil
}

// replace is PUT /api/v1/cookie-jars/{jar_id}. The body is the cookie file.
func (h cookieJarHandlers) replace(c *gin.Context, id string) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	file, err := readBody(c, "text/plain", "application/octet-stream", formType)
	if err != nil {
		return err
	}
	replaced, err := h.service.Replace(c.Request.Context(), id, string(file))
	return h.reply(c, h.body(replaced), err)
}

// remove is DELETE /api/v1/cookie-jars/{jar_id}.
func (h cookieJarHandlers) remove(c *gin.Context, id string) error {
	err := h.service.Delete(c.Request.Context(), id)
	return h.reply(c, struct {
		JarID string `json:"jar_id"`
	}{id}, err)
}
