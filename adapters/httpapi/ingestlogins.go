package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// ingestLoginHandlers answers the requests about the logins of owners (decision S24). No answer has a token.
type ingestLoginHandlers struct {
	*responder

	service *ingests.Logins
	enabled bool // there is an OAuth client to use them with
}

type ingestLoginListBody struct {
	Enabled      bool              `json:"enabled"`
	IngestLogins []ingestLoginBody `json:"ingest_logins"`
}

type ingestLoginBody struct {
	LoginID    string                 `json:"login_id"`
	Name       string                 `json:"name"`
	State      login.State            `json:"state"`
	Streams    int                    `json:"streams"`
	CreatedAt  time.Time              `json:"created_at"`
	UploadedAt time.Time              `json:"uploaded_at"`
	AcceptedAt *time.Time             `json:"accepted_at"`
	RejectedAt *time.Time             `json:"rejected_at"`
	AskedAt    *time.Time             `json:"asked_at"`
	NextAt     *time.Time             `json:"next_at"`
	Failure    *officialstate.Failure `json:"failure"`
}

func (h ingestLoginHandlers) body(l ingests.Login) ingestLoginBody {
	return ingestLoginBody{
		l.ID, l.Name, l.State(), l.Streams, h.localTime(l.CreatedAt), h.localTime(l.UploadedAt),
		h.localTimeOrNull(&l.AcceptedAt), h.localTimeOrNull(&l.RejectedAt), h.localTimeOrNull(&l.AskedAt), h.localTimeOrNull(&l.NextAt), l.Failure,
	}
}

// list is GET /api/v1/ingest-logins.
func (h ingestLoginHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	list, err := h.service.List(c.Request.Context())
	return h.reply(c, ingestLoginListBody{h.enabled, each(list, h.body)}, err)
}

// create is POST /api/v1/ingest-logins.
func (h ingestLoginHandlers) create(c *gin.Context) error {
	o, err := readFields(c, "name", "refresh_token")
	if err != nil {
		return err
	}
	o.missing("name", "refresh_token")
	name, token := o.string("name"), o.secret("refresh_token")
	if err := o.err(); err != nil {
		return err
	}
	created, err := h.service.Create(c.Request.Context(), *name, ingests.Token(*token))
	if err != nil {
		return err
	}
	changed(c, created.ID)
	h.write(c, http.StatusCreated, h.body(created))
	return nil
}

// replace is PUT /api/v1/ingest-logins/{login_id}.
func (h ingestLoginHandlers) replace(c *gin.Context, id string) error {
	o, err := readFields(c, "refresh_token")
	if err != nil {
		return err
	}
	o.missing("refresh_token")
	token := o.secret("refresh_token")
	if err := o.err(); err != nil {
		return err
	}
	replaced, err := h.service.Replace(c.Request.Context(), id, ingests.Token(*token))
	return h.reply(c, h.body(replaced), err)
}

// remove is DELETE /api/v1/ingest-logins/{login_id}.
func (h ingestLoginHandlers) remove(c *gin.Context, id string) error {
	err := h.service.Delete(c.Request.Context(), id)
	return h.reply(c, struct {
		LoginID string `json:"login_id"`
	}{id}, err)
}
