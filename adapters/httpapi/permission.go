package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
)

// permission is what a route of the public API needs (section 12.4).
type permission struct {
	right  access.Right
	action string // in the audit list; empty: nothing is recorded, because nothing changes
	dryRun bool   // with dry_run=true the route changes nothing
	dryAct string // action of such a request in the audit list; empty: nothing is recorded
}

// permissions are those of the routes that are not read by GET. A route that is missing here
// would need the right to administer.
var permissions = map[string]permission{
	"POST /api/v1/monitors":                                        {right: access.Operate, action: "monitor.register"},
	"POST " + batchPath:                                            {right: access.Operate, action: "monitor.register", dryRun: true},
	"PATCH /api/v1/monitors/:monitor_id":                           {right: access.Operate, action: "monitor.change"},
	"DELETE /api/v1/monitors/:monitor_id":                          {right: access.Operate, action: "monitor.stop"},
	"POST /api/v1/monitors/:monitor_id/events/:event_id/redeliver": {right: access.Operate, action: "event.redeliver"},
	"POST " + previewPath:                                          {right: access.Operate},
	"POST /api/v1/webhooks/test":                                   {right: access.Operate, action: "webhook.test"},
	"POST /api/v1/incidents/:incident_id/acknowledge":              {right: access.Operate, action: "incident.acknowledge"},
	"POST /api/v1/incidents/:incident_id/resolve":                  {right: access.Operate, action: "incident.resolve"},
	"POST /api/v1/incidents/:incident_id/notes":                    {right: access.Operate, action: "incident.note"},
	"POST /api/v1/incidents/:incident_id/label":                    {right: access.Operate, action: "incident.label"},
	"POST /api/v1/evidence/:evidence_id/link":                      {right: access.Read, action: "evidence.link"},
	"POST /api/v1/evidence/:evidence_id/class":                     {right: access.Operate, action: "evidence.class"},
	"POST /api/v1/thumbnails/watch":                                {right: access.Read},
	"POST /api/v1/silences":                                        {right: access.Operate, action: "silence.create"},
	"PATCH /api/v1/silences/:silence_id":                           {right: access.Operate, action: "silence.change"},
	"DELETE /api/v1/silences/:silence_id":                          {right: access.Operate, action: "silence.end"},
	"POST /api/v1/deliveries/replay":                               {right: access.Operate, action: "delivery.replay"},
	"POST /api/v1/deliveries/:delivery_id/replay":                  {right: access.Operate, action: "delivery.replay"},
	"POST /api/v1/destinations":                                    {right: access.Administer, action: "destination.create"},
	"PATCH /api/v1/destinations/:destination_id":                   {right: access.Administer, action: "destination.change", dryRun: true, dryAct: "destination.compare"},
	"DELETE /api/v1/destinations/:destination_id":                  {right: access.Administer, action: "destination.delete"},
	"POST " + destinationTestPath:                                  {right: access.Administer, action: "destination.test"},
	"POST /api/v1/routes":                                          {right: access.Administer, action: "route.create"},
	"PATCH /api/v1/routes/:route_id":                               {right: access.Administer, action: "route.change"},
	"DELETE /api/v1/routes/:route_id":                              {right: access.Administer, action: "route.delete"},
	"PUT " + routeOrderPath:                                        {right: access.Administer, action: "route.order"},
	"POST " + routeExplainPath:                                     {right: access.Read},
	"POST /api/v1/keys":                                            {right: access.Administer, action: "key.create"},
	"DELETE /api/v1/keys/:key_id":                                  {right: access.Administer, action: "key.revoke"},
}

// permissionOf returns what the route of a request needs.
func permissionOf(c *gin.Context) permission {
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		return permission{right: access.Read}
	}
	if p, listed := permissions[c.Request.Method+" "+c.FullPath()]; listed {
		return p
	}
	return permission{right: access.Administer, action: c.Request.Method + " " + c.FullPath()}
}

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
func (a *API) permitted(c *gin.Context) {
	key, is := actorOf(c)
	if !is || c.FullPath() == "" { // a path that does not exist is answered with 404
		return
	}
	if needed := permissionOf(c).right; !key.Role.May(needed) {
		c.Abort()
		a.fail(c, refusef(forbidden, "the key %q has the role %s; accepted here are keys with the role %s or more", key.Name, key.Role, access.RoleFor(needed)))
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

// answer is responder.answer for the public API: it records in the audit list what a key's holder
// does, before and after it is done. Workers do nothing that is recorded there.
func (a *API) answer(handle func(*gin.Context) error) gin.HandlerFunc {
	carryOut := a.responder.answer(handle)
	return func(c *gin.Context) {
		key, is := actorOf(c)
		p := permissionOf(c)
		action := p.action
		if p.dryRun && c.Query("dry_run") == "true" {
			action = p.dryAct
		}
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
