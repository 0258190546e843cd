package httpapi

import (
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// route is one row of the table: a method of a path, and everything that its requests need,
// count as and may take.
type route struct {
	method, path string
	right        access.Right       // of the key that the request needs (section 12.4); noKey: none
	action       string             // in the audit list; empty: nothing is recorded, because nothing changes
	rate         monitors.RateLimit // that a request counts against (section 12.3); empty: none
	special      special
	handle       func(*gin.Context) error
}

// noKey is the right of the routes that need no API key: whoever asks may see the answer, or
// has a signature. On the internal port, a worker has the token of its monitor.
const noKey access.Right = 0

// special is what few routes have.
type special struct {
	body    int64         // most bytes of the body; 0: maxPublicBody, or maxInternalBody
	timeout time.Duration // of a request; 0: Config.RequestTimeout, noTimeout: it ends with its client or its key

	// dryRun marks a route that changes nothing with dry_run=true. Such a request is dryAction
	// in the audit list; empty: nothing is recorded.
	dryRun    bool
	dryAction string
}

const noTimeout time.Duration = -1

// internal reports whether the route is for workers, on a port of its own.
func (r route) internal() bool { return strings.HasPrefix(r.path, "/internal/") }

// maxBody returns the most bytes of a request's body.
func (r route) maxBody() int64 {
	switch {
	case r.special.body > 0:
		return r.special.body
	case r.internal():
		return maxInternalBody
	}
	return maxPublicBody
}

// actionOf returns what a request is in the audit list; empty: it is not recorded.
func (r route) actionOf(c *gin.Context) string {
	if r.special.dryRun && c.Query("dry_run") == "true" {
		return r.special.dryAction
	}
	return r.action
}

// routes is the table of all routes but those of the dashboard. Stopping a monitor or a channel takes no rate
// limit, and neither does reading a thumbnail: a page reads hundreds a minute.
func (a *API) routes(s Services) []route {
	const read, operate, administer = access.Read, access.Operate, access.Administer
	const creating, querying, previewing, unlimited = monitors.Creating, monitors.Querying, monitors.Previewing, ""
	probe, described := probeHandlers{a.responder, a.ready}, serviceHandlers{a.responder, s.Info}
	registration := registrationHandlers{a.responder, s.Monitors.Registrar, s.Monitors.Previewer, s.Monitors.RateLimiter}
	monitor := monitorHandlers{a.responder, s.Monitors.Monitors, s.Monitors.Editor}
	event := eventHandlers{a.responder, s.Monitors.Events, s.Monitors.WebhookTester}
	history, incident := historyHandlers{a.responder, s.History}, incidentHandlers{a.responder, s.Incidents}
	evidence, thumbnail := evidenceHandlers{a.responder, s.Evidence, a.cfg.PublicURL}, thumbnailHandlers{a.responder, s.Thumbnails}
	reference := referenceHandlers{a.responder, s.References}
	jar, login := cookieJarHandlers{a.responder, s.CookieJars}, ingestLoginHandlers{a.responder, s.IngestLogins, a.cfg.IngestEnabled}
	key, feed := keyHandlers{a.responder, s.Keys, s.Audit}, feedHandlers{a.responder, s.Feed}
	destination, silence := destinationHandlers{a.responder, s.Routing.Destinations}, silenceHandlers{a.responder, s.Routing.Silences}
	duty := dutyHandlers{a.responder, s.Routing.Duty}
	routing, replay := routeHandlers{a.responder, s.Routing.Routes, s.Routing.Explainer}, replayHandlers{a.responder, s.Routing.Replays}
	link := actionHandlers{a.responder, a.cfg.LinkKeys, s.Incidents, s.Monitors.Monitors, s.Routing, s.Audit, a.cfg.Now}
	eventSub := eventSubHandlers{a.responder, s.Pushes, &wrongAttempts{max: maxWrongRequests}, a.cfg.Now}
	worker, channel := workerHandlers{a.responder, s.Workers}, channelHandlers{a.responder, s.Channels}
	usual := special{}
	return []route{
		{"GET", "/healthz", noKey, "", unlimited, usual, probe.healthz},
		{"GET", "/readyz", noKey, "", unlimited, usual, probe.readyz},
		{"GET", "/openapi.yaml", noKey, "", unlimited, usual, probe.openapi},
		{"GET", "/evidence/:evidence_id/:variant", noKey, "", unlimited, special{timeout: downloadTimeout}, evidence.download},
		{"GET", "/act/:token", noKey, "", unlimited, usual, link.handle(link.show)},
		{"POST", "/act/:token", noKey, "", unlimited, special{body: maxActionBody}, link.handle(link.act)}, // records itself
		{"POST", "/eventsub/twitch", noKey, "", unlimited, special{timeout: eventSubTimeout, body: eventsub.MaxBody}, eventSub.receive},

		{"POST", "/api/v1/monitors", operate, "monitor.register", creating, usual, registration.registerOrRefuse},
		{"POST", "/api/v1/monitors/batch", operate, "monitor.register", creating, special{body: maxBatchBody, dryRun: true}, registration.registerBatch},
		{"POST", "/api/v1/preview", operate, "", previewing, special{timeout: previewTimeout}, registration.preview},
		{"GET", "/api/v1/monitors", read, "", querying, usual, monitor.list},
		{"GET", "/api/v1/monitors/:monitor_id", read, "", querying, usual, of(monitorID, monitor.get)},
		{"PATCH", "/api/v1/monitors/:monitor_id", operate, "monitor.change", querying, usual, of(monitorID, monitor.change)},
		{"DELETE", "/api/v1/monitors/:monitor_id", operate, "monitor.stop", unlimited, usual, of(monitorID, monitor.stop)},
		{"GET", "/api/v1/monitors/:monitor_id/thumbnail", read, "", unlimited, usual, of(monitorID, thumbnail.read)},
		{"GET", "/api/v1/monitors/:monitor_id/references", read, "", querying, usual, of(ofMonitor, reference.list)},
		{"POST", "/api/v1/monitors/:monitor_id/references", operate, "reference.add", querying, special{body: references.MaxImageBytes}, of(ofMonitor, reference.add)},
		{"DELETE", "/api/v1/monitors/:monitor_id/references/:reference_id", operate, "reference.remove", querying, usual, of(ofMonitor, reference.remove)},
		{"GET", "/api/v1/monitors/:monitor_id/references/:reference_id/image", read, "", querying, usual, of(ofMonitor, reference.image)},
		{"POST", "/api/v1/thumbnails/watch", read, "", querying, usual, thumbnail.watch},

		{"GET", "/api/v1/monitors/:monitor_id/events", read, "", querying, usual, of(monitorID, event.events)},
		{"POST", "/api/v1/monitors/:monitor_id/events/:event_id/redeliver", operate, "event.redeliver", querying, usual, of(monitorID, event.redeliver)},
		{"POST", "/api/v1/webhooks/test", operate, "webhook.test", creating, usual, event.testWebhook},
		{"GET", "/api/v1/deliveries", read, "", querying, usual, event.deliveries},
		{"POST", "/api/v1/deliveries/replay", operate, "delivery.replay", querying, usual, replay.failed},
		{"POST", "/api/v1/deliveries/:delivery_id/replay", operate, "delivery.replay", querying, usual, of(deliveryID, replay.one)},

		{"POST", "/api/v1/channels", operate, "channel.register", creating, usual, channel.register},
		{"POST", "/api/v1/channels/batch", operate, "channel.register", creating, special{body: maxBatchBody, dryRun: true}, channel.registerBatch},
		{"POST", "/api/v1/channels/preview", operate, "", previewing, special{timeout: channelPreviewTimeout}, channel.preview},
		{"GET", "/api/v1/channels", read, "", querying, usual, channel.list},
		{"GET", "/api/v1/channels/:channel_id", read, "", querying, usual, of(channelID, channel.get)},
		{"PATCH", "/api/v1/channels/:channel_id", operate, "channel.change", querying, usual, of(channelID, channel.change)},
		{"DELETE", "/api/v1/channels/:channel_id", operate, "channel.stop", unlimited, usual, of(channelID, channel.stop)},
		{"GET", "/api/v1/channels/:channel_id/events", read, "", querying, usual, of(channelID, channel.events)},
		{"GET", "/api/v1/channels/:channel_id/references", read, "", querying, usual, of(ofChannel, reference.list)},
		{"POST", "/api/v1/channels/:channel_id/references", operate, "reference.add", querying, special{body: references.MaxImageBytes}, of(ofChannel, reference.add)},
		{"DELETE", "/api/v1/channels/:channel_id/references/:reference_id", operate, "reference.remove", querying, usual, of(ofChannel, reference.remove)},
		{"GET", "/api/v1/channels/:channel_id/references/:reference_id/image", read, "", querying, usual, of(ofChannel, reference.image)},

		{"GET", "/api/v1/incidents", read, "", querying, usual, incident.list},
		{"GET", "/api/v1/incidents/:incident_id", read, "", querying, usual, incident.get},
		{"POST", "/api/v1/incidents/:incident_id/acknowledge", operate, "incident.acknowledge", querying, usual, incident.acknowledge},
		{"POST", "/api/v1/incidents/:incident_id/resolve", operate, "incident.resolve", querying, usual, incident.resolve},
		{"POST", "/api/v1/incidents/:incident_id/notes", operate, "incident.note", querying, usual, incident.note},
		{"POST", "/api/v1/incidents/:incident_id/label", operate, "incident.label", querying, usual, incident.label},

		{"GET", "/api/v1/evidence", read, "", querying, usual, evidence.list},
		{"GET", "/api/v1/evidence/:evidence_id", read, "", querying, usual, of(evidenceID, evidence.get)},
		{"POST", "/api/v1/evidence/:evidence_id/link", read, "evidence.link", querying, usual, of(evidenceID, evidence.link)},
		{"POST", "/api/v1/evidence/:evidence_id/class", operate, "evidence.class", querying, usual, of(evidenceID, evidence.setClass)},

		{"GET", "/api/v1/monitors/:monitor_id/timeline", read, "", querying, usual, of(monitorID, history.timeline)},
		{"GET", "/api/v1/monitors/:monitor_id/sessions", read, "", querying, usual, of(monitorID, history.sessions)},
		{"GET", "/api/v1/statistics", read, "", querying, usual, history.statistics},
		{"GET", "/api/v1/feed", read, "", querying, special{timeout: noTimeout}, feed.read},
		{"GET", "/api/v1/service", read, "", querying, usual, described.read},
		{"GET", "/api/v1/presets", read, "", querying, usual, described.presets},
		{"GET", "/api/v1/detectors", read, "", querying, usual, detectorHandlers{a.responder}.list},

		{"GET", "/api/v1/destination-kinds", read, "", querying, usual, destination.kinds},
		{"GET", "/api/v1/destinations", read, "", querying, usual, destination.list},
		{"POST", "/api/v1/destinations", administer, "destination.create", querying, usual, destination.create},
		{"GET", "/api/v1/destinations/:destination_id", read, "", querying, usual, of(destinationID, destination.get)},
		{"PATCH", "/api/v1/destinations/:destination_id", administer, "destination.change", querying, special{dryRun: true, dryAction: "destination.compare"}, of(destinationID, destination.change)},
		{"DELETE", "/api/v1/destinations/:destination_id", administer, "destination.delete", querying, usual, of(destinationID, destination.delete)},
		{"POST", "/api/v1/destinations/:destination_id/test", administer, "destination.test", creating, special{timeout: destinationTestTimeout}, of(destinationID, destination.test)},
		{"GET", "/api/v1/routes", read, "", querying, usual, routing.list},
		{"POST", "/api/v1/routes", administer, "route.create", querying, usual, routing.create},
		{"PUT", "/api/v1/routes/order", administer, "route.order", querying, usual, routing.order},
		{"POST", "/api/v1/routes/explain", read, "", querying, usual, routing.explain},
		{"GET", "/api/v1/routes/:route_id", read, "", querying, usual, of(routeID, routing.get)},
		{"PATCH", "/api/v1/routes/:route_id", administer, "route.change", querying, usual, of(routeID, routing.change)},
		{"DELETE", "/api/v1/routes/:route_id", administer, "route.delete", querying, usual, of(routeID, routing.delete)},
		{"GET", "/api/v1/silences", read, "", querying, usual, silence.list},
		{"POST", "/api/v1/silences", operate, "silence.create", querying, usual, silence.create},
		{"GET", "/api/v1/silences/:silence_id", read, "", querying, usual, of(silenceID, silence.get)},
		{"PATCH", "/api/v1/silences/:silence_id", operate, "silence.change", querying, usual, of(silenceID, silence.change)},
		{"DELETE", "/api/v1/silences/:silence_id", operate, "silence.end", querying, usual, of(silenceID, silence.end)},
		{"GET", "/api/v1/duty", read, "", querying, usual, duty.get},
		{"PATCH", "/api/v1/duty", administer, "duty.change", querying, usual, duty.change},
		{"POST", "/api/v1/duty/overrides", operate, "duty.override", querying, usual, duty.override},
		{"DELETE", "/api/v1/duty/overrides/:override_id", operate, "duty.end_override", querying, usual, of(overrideID, duty.endOverride)},

		{"GET", "/api/v1/cookie-jars", read, "", querying, usual, jar.list},
		{"POST", "/api/v1/cookie-jars", administer, "cookie_jar.create", querying, special{body: cookiejars.MaxUpload}, jar.create},
		{"PUT", "/api/v1/cookie-jars/:jar_id", administer, "cookie_jar.replace", querying, special{body: cookiejars.MaxUpload}, of(jarID, jar.replace)},
		{"DELETE", "/api/v1/cookie-jars/:jar_id", administer, "cookie_jar.delete", querying, usual, of(jarID, jar.remove)},

		{"GET", "/api/v1/ingest-logins", read, "", querying, usual, login.list},
		{"POST", "/api/v1/ingest-logins", administer, "ingest_login.create", querying, usual, login.create},
		{"PUT", "/api/v1/ingest-logins/:login_id", administer, "ingest_login.replace", querying, usual, of(loginID, login.replace)},
		{"DELETE", "/api/v1/ingest-logins/:login_id", administer, "ingest_login.delete", querying, usual, of(loginID, login.remove)},

		{"GET", "/api/v1/keys", read, "", querying, usual, key.list},
		{"POST", "/api/v1/keys", administer, "key.create", querying, usual, key.create},
		{"DELETE", "/api/v1/keys/:key_id", administer, "key.revoke", querying, usual, of(keyID, key.revoke)},
		{"GET", "/api/v1/audit", read, "", querying, usual, key.listAudit},

		{"GET", "/internal/v1/monitors/:monitor_id", noKey, "", unlimited, usual, of(monitorID, worker.assignment)},
		{"PUT", "/internal/v1/monitors/:monitor_id/status", noKey, "", unlimited, usual, of(monitorID, worker.report)},
		{"PUT", "/internal/v1/monitors/:monitor_id/cookies", noKey, "", unlimited, usual, of(monitorID, worker.returnCookies)},
		{"PUT", "/internal/v1/monitors/:monitor_id/thumbnail", noKey, "", unlimited, special{body: evidences.MaxThumbnailBytes}, of(monitorID, thumbnail.put)},
		{"PUT", "/internal/v1/monitors/:monitor_id/evidence/:evidence_id", noKey, "", unlimited, usual, evidence.putRecord},
		{"POST", "/internal/v1/monitors/:monitor_id/evidence/:evidence_id/:variant", noKey, "", unlimited, special{timeout: uploadTimeout}, evidence.upload}, // the variant limits its body
	}
}
