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

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/keyring"
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
	routing   *routing.Services
	audit     *keyring.Audit // nil: nothing is recorded
	now       func() time.Time
}

// action is the link of a request, and what it acts on.
type action struct {
	notify.ActionLink

	token    string
	words    actionWords
	language notify.Language
	incident incidents.Incident // of a link to one
	storm    *notify.Storm      // with the incidents that the routes lead to the destination; nil: the link is to an incident
}

// handle wraps a handler of links. It also answers every error with a page.
func (h actionHandlers) handle(handle func(*gin.Context, *action) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		a := &action{token: c.Param("token"), language: notify.English}
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
		a.incident, _, err = h.incidents.Get(c.Request.Context(), a.IncidentID)
		return err
	}
	storm, err := h.routing.Explainer.StormOf(c.Request.Context(), a.StormID, a.DestinationID)
	a.storm = &storm
	return err
}

// situation returns what messages tell of the incident or the storm now.
func (h actionHandlers) situation(a *action) notify.Situation {
	if a.storm != nil {
		return a.storm.Situation(h.now())
	}
	return notify.SituationOf(a.incident.Incident)
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
	return h.writePage(c, row.status, page)
}

// show is GET /act/{token}. It changes nothing.
func (h actionHandlers) show(c *gin.Context, a *action) error {
	page := h.describe(a)
	switch a.Action {
	case notify.SilenceAnHour:
		silence, err := h.routing.Silences.Get(c.Request.Context(), a.silenceID())
		if err == nil {
			return h.writePage(c, http.StatusOK, h.silencedPage(a, silence, ""))
		}
		if coded, ok := errors.AsType[*monitor.Error](err); !ok || coded.Code != routing.SilenceNotFound {
			return err
		}
	default:
		if s := h.situation(a); s.Handled() {
			page.Title, page.Button = fmt.Sprintf(a.words.acknowledgedBy, s.AcknowledgedBy), ""
		}
	}
	return h.writePage(c, http.StatusOK, page)
}

// describe returns the page that asks. It has no form if there is nothing to do.
func (h actionHandlers) describe(a *action) actionPage {
	w, i := a.words, a.incident
	if a.storm != nil {
		return h.describeStorm(a)
	}
	var names []string
	for _, condition := range i.Conditions {
		name, known := w.conditions[condition.Name]
		if !known {
			name = string(condition.Name)
		}
		names = append(names, name)
	}
	title, button := w.acknowledge, w.acknowledgeButton
	if a.Action == notify.SilenceAnHour {
		title, button = w.silence, w.silenceButton
	}
	page := actionPage{
		Language: a.language, Title: fmt.Sprintf(title, strings.Join(names, w.and)), Name: w.name, Button: button,
		Lines: []string{fmt.Sprintf(w.stream, i.StreamURL), fmt.Sprintf(w.since, w.time(i.StartedAt, h.zone))},
	}
	if i.State == incident.Resolved {
		page.Lines = append(page.Lines, fmt.Sprintf(w.resolved, w.time(i.ResolvedAt, h.zone)))
		if a.Action == notify.Acknowledge {
			page.Button = ""
		}
	}
	return page
}

func (h actionHandlers) describeStorm(a *action) actionPage {
	w, s := a.words, h.situation(a)
	if s.Streams == 0 {
		return actionPage{Language: a.language, Title: w.notNotified, Lines: []string{w.dashboard}}
	}
	page := actionPage{
		Language: a.language, Title: fmt.Sprintf(w.acknowledge, fmt.Sprintf(w.streams, s.Streams)), Name: w.name, Button: w.acknowledgeButton,
		Lines: []string{fmt.Sprintf(w.since, w.time(s.OpenedAt, h.zone))},
	}
	if !s.Open {
		page.Button = ""
		page.Lines = append(page.Lines, fmt.Sprintf(w.resolved, w.time(s.ResolvedAt, h.zone)))
	}
	return page
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
		return h.askAgain(c, a, by)
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
	h.audit.Finish(c.Request.Context(), seq, entry.Objects, h.recordedStatus(c, err))
	return err
}

// recordedStatus returns the status with which an action by a link ends, or 0 if it was refused.
func (h actionHandlers) recordedStatus(c *gin.Context, err error) int {
	status := c.Writer.Status()
	if err != nil {
		if status = http.StatusInternalServerError; refused(err) {
			status = 0
		}
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return 0
	}
	return status
}

// askAgain answers a form without a name.
func (h actionHandlers) askAgain(c *gin.Context, a *action, by string) error {
	page := h.describe(a)
	page.By = by
	page.Lines = append(page.Lines, a.words.wrongName)
	return h.writePage(c, http.StatusBadRequest, page)
}

func (h actionHandlers) acknowledge(c *gin.Context, a *action, act incidents.Action) error {
	_, err := h.incidents.Act(c.Request.Context(), a.IncidentID, act)
	linkUsed := errors.Is(err, incidents.ErrOpReused)
	if err != nil && !linkUsed {
		return err
	}
	if a.incident, _, err = h.incidents.Get(c.Request.Context(), a.IncidentID); err != nil {
		return err
	}
	page := h.describe(a)
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
	return h.writePage(c, status, page)
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
		case ok && (coded.Code == incidents.NotFound || coded.Code == monitor.InvalidConfig): // it has expired, or its log is full
		default:
			return err
		}
	}
	if err := h.readSubject(c, a); err != nil {
		return err
	}
	page, status := h.describe(a), http.StatusOK
	switch s := h.situation(a); {
	case taken > 0 && (s.Handled() || !s.Open):
		page.Title, page.Button = fmt.Sprintf(a.words.acknowledged, by), ""
	case s.Handled():
		page.Title, page.Button, status = fmt.Sprintf(a.words.acknowledgedBy, s.AcknowledgedBy), "", http.StatusConflict
	}
	return h.writePage(c, status, page)
}

func (h actionHandlers) silence(c *gin.Context, a *action, by string) error {
	silence, err := h.routing.Silences.CreateForMonitor(c.Request.Context(), a.silenceID(), a.incident.MonitorID, by, "incident "+a.IncidentID)
	if coded, ok := errors.AsType[*monitor.Error](err); ok && coded.Code == monitor.InvalidConfig { // there are routing.MaxSilences
		page := actionPage{Language: a.language, Title: a.words.wrong, Lines: []string{a.words.noRoom}}
		return h.writePage(c, http.StatusBadRequest, page)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if silence.CreatedBy != by || silence.State == notify.SilenceEnded {
		status = http.StatusConflict
	}
	return h.writePage(c, status, h.silencedPage(a, silence, by))
}

// silencedPage says what a link has silenced. by is who acts now; empty: nobody does.
func (h actionHandlers) silencedPage(a *action, s routing.SilenceWithState, by string) actionPage {
	page := h.describe(a)
	page.Button = ""
	until := a.words.time(s.EndsAt, h.zone)
	switch {
	case s.State == notify.SilenceEnded:
		page.Title = a.words.silenceOver
	case s.CreatedBy == by:
		page.Title = fmt.Sprintf(a.words.silenced, until)
	default:
		page.Title = fmt.Sprintf(a.words.silencedBy, s.CreatedBy, until)
	}
	return page
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
