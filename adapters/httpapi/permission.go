package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
)

// contextActor and contextChanged are the names under which a gin.Context holds the key of its
// request, and the IDs of what the request has changed.
const (
	contextActor   = "actor"
	contextChanged = "changed"
)

// actorOf returns the key of a request of the public API. is is false on routes that need none.
func actorOf(c *gin.Context) (key access.Key, is bool) {
	value, _ := c.Get(contextActor)
	key, is = value.(access.Key)
	return key, is
}

// keyOfActor returns the key of a request that was authenticated.
func keyOfActor(c *gin.Context) access.Key {
	key, _ := actorOf(c)
	return key
}

// changed notes the IDs of what a request has changed, for the audit list. Those in the path
// need not be noted.
func changed(c *gin.Context, ids ...string) {
	c.Set(contextChanged, append(c.GetStringSlice(contextChanged), ids...))
}

// permitted refuses a request that the role of its key does not include.
func (a *API) permitted(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		if key, is := actorOf(c); is && !key.Role.May(r.right) {
			c.Abort()
			a.fail(c, refusef(forbidden, "the key %q has the role %s; accepted here are keys with the role %s or more", key.Name, key.Role, access.RoleFor(r.right)))
		}
	}
}

// carryThrough lets a change go on within its time limit when its caller leaves: the audit list
// would otherwise say that nothing was done. stop must be called.
func carryThrough(c *gin.Context) (stop func()) {
	ctx := context.WithoutCancel(c.Request.Context())
	stop = func() {}
	if deadline, limited := c.Request.Context().Deadline(); limited {
		ctx, stop = context.WithDeadline(ctx, deadline)
	}
	c.Request = c.Request.WithContext(ctx)
	return stop
}

// recorded answers a request of the public API. It records in the audit list what a key's holder
// does, before and after it is done. Workers do nothing that is recorded there.
func (a *API) recorded(r route) gin.HandlerFunc {
	carryOut := a.answer(r.handle)
	return func(c *gin.Context) {
		key, is := actorOf(c)
		action := r.actionOf(c)
		if !is || a.audit == nil || action == "" {
			carryOut(c)
			return
		}
		defer carryThrough(c)()
		var objects []string
		for _, id := range c.Params {
			objects = append(objects, id.Value)
		}
		seq, err := a.audit.Begin(c.Request.Context(), keyring.Entry{
			KeyID: key.ID, KeyName: key.Name, Action: action, Objects: storable(objects), Client: addressOf(c),
		})
		if err != nil {
			a.fail(c, err)
			return
		}
		carryOut(c)
		status := c.Writer.Status()
		if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			status = 0
		}
		a.audit.Finish(c.Request.Context(), seq, storable(append(objects, c.GetStringSlice(contextChanged)...)), status)
	}
}

// maxObject is the longest ID or host that the audit list has, in bytes. Longer ones name nothing.
const maxObject = 300

// storable returns the IDs that can be stored. A path may have any bytes.
func storable(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return len(id) > maxObject || !isPlainASCII(id) })
}

func isPlainASCII(s string) bool {
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}
