package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// maxActionBody is the maximum size of a form, in bytes.
const maxActionBody = 4 << 10

// actionHandlers answers the requests of links in messages (section 19.3). The signature is
// the only permission that they need, and is checked before anything else. Every answer is
// a page.
type actionHandlers struct {
	*responder

	keys      evidence.LinkKeys
	incidents *incidents.Service
	monitors  *monitors.MonitorReader
	routing   *routing.Services
	audit     *keyring.Audit // nil: nothing is recorded
	now       func() time.Time
}

// action is the link of a request, and what it acts on.
type action struct {
	notify.ActionLink

	token     string
	words     actionWords
	language  notify.Language
	zone      *time.Location     // of the times on the page
	incident  incidents.Incident // of a link to one
	stream    string             // of the incident, as messages call it
	storm     *notify.Storm      // with the incidents that the routes lead to the destination; nil: the link is to an incident
	situation notify.Situation   // what messages tell of the incident or the storm now
}

// handle wraps a handler of links. It also answers every error with a page.
func (h actionHandlers) handle(handle func(*gin.Context, *action) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		a := &action{token: c.Param("token"), language: notify.English, zone: h.zone}
		if strings.HasPrefix(c.GetHeader("Accept-Language"), string(notify.Japanese)) {
			a.language = notify.Japanese
		}
		a.words = actionTexts[a.language]
		if c.Request.Method == http.MethodPost {
			defer carryThrough(c)()
		}
		err := h.load(c, a)
		if err == nil {
			err = handle(c, a)
		}
		if err != nil {
			return h.errorPage(c, a, err)
		}
		return nil
	}
}

// load checks the link and reads what it acts on.
func (h actionHandlers) load(c *gin.Context, a *action) (err error) {
	if a.ActionLink, err = notify.CheckAction(h.keys, a.token, h.now()); err != nil {
		return err
	}
	d, err := h.routing.Destinations.Destination(c.Request.Context(), a.DestinationID)
	var coded *monitor.Error
	switch {
	case err == nil:
		a.language = d.Language
		a.words = actionTexts[a.language]
	case errors.As(err, &coded) && coded.Code == routing.DestinationNotFound: // the link outlives it
	default:
		return err
	}
	return h.readSubject(c, a)
}

// readSubject reads the incident or the storm as it is now.
func (h actionHandlers) readSubject(c *gin.Context, a *action) (err error) {
	if a.StormID == "" {
		if a.incident, _, err = h.incidents.Get(c.Request.Context(), a.IncidentID); err != nil {
			return err
		}
		a.situation = notify.SituationOf(a.incident.Incident)
		m, err := h.monitors.Get(c.Request.Context(), a.incident.MonitorID)
		a.stream = message.StreamName(m.Number, m.StreamURL, notify.FlattenMetadata(m.Metadata))
		return err
	}
	storm, err := h.routing.Explainer.StormOf(c.Request.Context(), a.StormID, a.DestinationID)
	a.storm, a.situation = &storm, storm.Situation(h.now())
	return err
}

// errorPage answers an error as a page, and logs an internal one.
func (h actionHandlers) errorPage(c *gin.Context, a *action, err error) error {
	shown := h.callerError(c, err)
	row := httpStatus[shown.Code]
	if row.status == 0 {
		row = httpStatus[monitor.Internal]
	}
	if shown.Code == evidence.LinkExpired {
		row.status = http.StatusGone
	}
	retryAfter(c, time.Duration(row.retryAfter)*time.Second)
	page := actionPage{Language: a.language, Title: a.words.wrong, Lines: []string{a.words.statusWords(row.status)}}
	return page.write(c, row.status)
}

// show is GET /act/{token}. It changes nothing.
func (h actionHandlers) show(c *gin.Context, a *action) error {
	page := a.page()
	switch a.Action {
	case notify.SilenceAnHour:
		silence, err := h.routing.Silences.Get(c.Request.Context(), a.silenceID())
		if err == nil {
			return a.silencedPage(silence, "").write(c, http.StatusOK)
		}
		if coded, ok := errors.AsType[*monitor.Error](err); !ok || coded.Code != routing.SilenceNotFound {
			return err
		}
	default:
		if s := a.situation; s.Handled() {
			page.Title, page.Button = fmt.Sprintf(a.words.acknowledgedBy, s.AcknowledgedBy), ""
		}
	}
	return page.write(c, http.StatusOK)
}

// act is POST /act/{token}.
func (h actionHandlers) act(c *gin.Context, a *action) error {
	raw, err := readBody(c, formType)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(raw))
	by := monitor.CleanLine(form.Get("by"))
	act := incidents.Action{OpID: a.opID(), Kind: incident.Acknowledged, By: by}
	if err != nil || len(act.Check()) > 0 {
		page := a.page()
		page.By = by
		page.Lines = append(page.Lines, a.words.wrongName)
		return page.write(c, http.StatusBadRequest)
	}
	return h.recorded(c, a, func() error {
		switch {
		case a.storm != nil:
			return h.acknowledgeStorm(c, a, by)
		case a.Action == notify.SilenceAnHour:
			return h.silence(c, a, by)
		}
		return h.acknowledge(c, a, act)
	})
}

// recorded carries an action out, and records it in the audit list as that of a link.
func (h actionHandlers) recorded(c *gin.Context, a *action, carryOut func() error) error {
	if h.audit == nil {
		return carryOut()
	}
	entry := keyring.Entry{KeyName: access.LinkName, Action: "incident.acknowledge", Objects: []string{a.IncidentID}, Client: addressOf(c)}
	switch {
	case a.storm != nil:
		entry.Objects = nil
		for _, i := range a.storm.Incidents {
			entry.Objects = append(entry.Objects, i.ID)
		}
	case a.Action == notify.SilenceAnHour:
		entry.Action, entry.Objects = "silence.create", []string{a.silenceID(), a.IncidentID}
	}
	seq, err := h.audit.Begin(c.Request.Context(), entry)
	if err != nil {
		return err
	}
	err = carryOut()
	h.audit.Finish(c.Request.Context(), seq, entry.Objects, recordedStatus(c.Writer.Status(), err))
	return err
}

// recordedStatus returns the status with which an action by a link ended, or 0 if it was
// refused. written is that of its page, if there was no error.
func recordedStatus(written int, err error) int {
	switch {
	case err == nil && (written < http.StatusBadRequest || written >= http.StatusInternalServerError):
		return written
	case err == nil || refused(err):
		return 0
	}
	return http.StatusInternalServerError
}

func (h actionHandlers) acknowledge(c *gin.Context, a *action, act incidents.Action) error {
	_, err := h.incidents.Act(c.Request.Context(), a.IncidentID, act)
	linkUsed := errors.Is(err, incidents.ErrOpReused)
	if err != nil && !linkUsed {
		return err
	}
	if err := h.readSubject(c, a); err != nil {
		return err
	}
	page := a.page()
	page.Button = ""
	status := http.StatusOK
	switch by := a.incident.AcknowledgedBy; {
	case by == "":
		page.Title, status = a.words.reopened, http.StatusConflict
	case linkUsed || by != act.By:
		page.Title, status = fmt.Sprintf(a.words.acknowledgedBy, by), http.StatusConflict
	default:
		page.Title = fmt.Sprintf(a.words.acknowledged, act.By)
	}
	return page.write(c, status)
}

// acknowledgeStorm acknowledges the incidents of a storm that nobody has taken. The page asks
// again if there are new ones by then.
func (h actionHandlers) acknowledgeStorm(c *gin.Context, a *action, by string) error {
	taken := 0
	for _, i := range a.storm.Incidents {
		if s := notify.SituationOf(i.Incident); !s.Open || s.Handled() {
			continue
		}
		_, err := h.incidents.Act(c.Request.Context(), i.ID, incidents.Action{OpID: a.stormOpID(i.Incident), Kind: incident.Acknowledged, By: by})
		coded, ok := errors.AsType[*monitor.Error](err)
		switch {
		case err == nil:
			taken++
		case errors.Is(err, incidents.ErrOpReused): // somebody uses the link at the same time
		case ok && (coded.Code == incident.NotFound || coded.Code == monitor.InvalidConfig): // it has expired, or its log is full
		default:
			return err
		}
	}
	if err := h.readSubject(c, a); err != nil {
		return err
	}
	page, status := a.page(), http.StatusOK
	switch s := a.situation; {
	case taken > 0 && (s.Handled() || !s.Open):
		page.Title, page.Button = fmt.Sprintf(a.words.acknowledged, by), ""
	case s.Handled():
		page.Title, page.Button, status = fmt.Sprintf(a.words.acknowledgedBy, s.AcknowledgedBy), "", http.StatusConflict
	}
	return page.write(c, status)
}

func (h actionHandlers) silence(c *gin.Context, a *action, by string) error {
	silence, err := h.routing.Silences.CreateForMonitor(c.Request.Context(), a.silenceID(), a.incident.MonitorID, by, "incident "+a.IncidentID)
	if coded, ok := errors.AsType[*monitor.Error](err); ok && coded.Code == monitor.InvalidConfig { // there are routing.MaxSilences
		page := actionPage{Language: a.language, Title: a.words.wrong, Lines: []string{a.words.noRoom}}
		return page.write(c, http.StatusBadRequest)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if silence.CreatedBy != by || silence.State == notify.SilenceEnded {
		status = http.StatusConflict
	}
	return a.silencedPage(silence, by).write(c, status)
}

// opID is the op_id of the acknowledgement. It makes repeated POSTs of one link count once.
func (a *action) opID() string {
	digest := sha256.Sum256([]byte(a.token))
	return "link-" + hex.EncodeToString(digest[:16])
}

// stormOpID is the op_id of the acknowledgement of one incident of a storm. It is another one
// after the incident has got worse or has come back: the link can be used again.
func (a *action) stormOpID(i incident.Incident) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%d", a.token, i.ID, i.Reopened, i.Severity))
	return "link-" + hex.EncodeToString(digest[:16])
}

// silenceID is the id of the silence: a link creates one. It has the form of a UUIDv7 of
// the time of its link's end.
func (a *action) silenceID() string {
	digest := sha256.Sum256([]byte("silence\n" + a.token))
	id := uuid.UUID(digest[:16])
	at := a.ExpiresAt.UnixMilli()
	for i := range 6 {
		id[i] = byte(at >> (8 * (5 - i))) //nolint:gosec // the time's bytes one by one
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}
