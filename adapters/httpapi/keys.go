package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// keyHandlers answers the requests about API keys and the audit list (section 12.4).
type keyHandlers struct {
	*responder

	keys  *keyring.Keyring
	audit *keyring.Audit
}

type keyListBody struct {
	Keys []keyBody `json:"keys"`
}

type keyBody struct {
	KeyID      string       `json:"key_id"`
	Name       string       `json:"name"`
	Role       access.Role  `json:"role"`
	State      access.State `json:"state"`
	CreatedBy  string       `json:"created_by"`
	CreatedAt  time.Time    `json:"created_at"`
	ExpiresAt  *time.Time   `json:"expires_at"`
	RevokedAt  *time.Time   `json:"revoked_at"`
	LastUsedAt *time.Time   `json:"last_used_at"`
	Key        string       `json:"key,omitempty"`
}

func (h keyHandlers) keyBody(k access.Key) keyBody {
	return keyBody{
		KeyID: k.ID, Name: k.Name, Role: k.Role, State: k.State(h.keys.Now()), CreatedBy: k.CreatedBy, CreatedAt: h.localTime(k.CreatedAt),
		ExpiresAt: h.localTimeOrNull(&k.ExpiresAt), RevokedAt: h.localTimeOrNull(&k.RevokedAt), LastUsedAt: h.localTimeOrNull(&k.LastUsedAt),
	}
}

// list is GET /api/v1/keys.
func (h keyHandlers) list(c *gin.Context) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	keys, err := h.keys.List(c.Request.Context())
	return h.reply(c, keyListBody{each(keys, h.keyBody)}, err)
}

// create is POST /api/v1/keys. Only its response has the secret.
func (h keyHandlers) create(c *gin.Context) error {
	o, err := readFields(c, "name", "role", "expires_at")
	if err != nil {
		return err
	}
	o.missing("name", "role")
	var key access.Key
	if name := o.string("name"); name != nil {
		key.Name = *name
	}
	if role := o.string("role"); role != nil {
		key.Role = access.Role(*role)
	}
	if at := o.timeOrNull("expires_at"); at != nil {
		key.ExpiresAt = *at
	}
	if err := o.err(); err != nil {
		return err
	}
	created, secret, err := h.keys.Create(c.Request.Context(), keyOfActor(c), key)
	if err != nil {
		return err
	}
	changed(c, created.ID)
	body := h.keyBody(created)
	body.Key = secret
	h.write(c, http.StatusCreated, body)
	return nil
}

// revoke is DELETE /api/v1/keys/{key_id}.
func (h keyHandlers) revoke(c *gin.Context, id string) error {
	key, err := h.keys.Revoke(c.Request.Context(), id)
	return h.reply(c, h.keyBody(key), err)
}

type auditListBody struct {
	Entries []auditBody `json:"entries"`
	Next    *string     `json:"next"`
}

type auditBody struct {
	At      time.Time    `json:"at"`
	Key     auditKeyBody `json:"key"`
	Action  string       `json:"action"`
	Objects []string     `json:"objects"`
	Client  string       `json:"client"`
	Status  *int         `json:"status"`
}

type auditKeyBody struct {
	KeyID *string `json:"key_id"`
	Name  string  `json:"name"`
}

// listAudit is GET /api/v1/audit.
func (h keyHandlers) listAudit(c *gin.Context) error {
	query, err := readQuery(c, "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := readInt(query, "limit", keyring.DefaultPage)
	if err != nil {
		return err
	}
	before, err := auditCursor.readSeq(query, "cursor")
	if err != nil {
		return err
	}
	page, next, err := h.audit.List(c.Request.Context(), before, limit)
	if err != nil {
		return err
	}
	body := auditListBody{make([]auditBody, 0, len(page)), auditCursor.encodeSeq(next)}
	for _, e := range page {
		body.Entries = append(body.Entries, auditBody{
			At: h.localTime(e.At), Key: auditKeyBody{wire.OrNull(e.KeyID), e.KeyName}, Action: e.Action, Objects: append([]string{}, e.Objects...), Client: e.Client, Status: wire.OrNull(e.Status),
		})
	}
	h.write(c, http.StatusOK, body)
	return nil
}
