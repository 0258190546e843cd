package httpapi

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the zones of statistics, on a machine that has none

	"github.com/gin-gonic/gin"

	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// historyHandlers answers the requests about the history (section 16.3).
type historyHandlers struct {
	*responder

	service *histories.Service
}

type timelineBody struct {
	MonitorID monitor.ID           `json:"monitor_id"`
	From      time.Time            `json:"from"`
	To        time.Time            `json:"to"`
	BucketSec float64              `json:"bucket_sec"`
	Buckets   []timelineBucketBody `json:"buckets"`
}

type timelineBucketBody struct {
	From     time.Time     `json:"from"`
	Stream   *laneBody     `json:"stream"`
	Video    *laneBody     `json:"video"`
	Audio    *laneBody     `json:"audio"`
	Segments *laneBody     `json:"segments"`
	Luma     *measuredBody `json:"luma"`
	Level    *measuredBody `json:"level"`
}

type laneBody struct {
	State history.State `json:"state"`
	Share shareBody     `json:"share"`
}

// shareBody has the share of each state in a bucket.
type shareBody struct {
	of     history.Share
	length time.Duration // of the bucket
}

// MarshalJSON writes an object of numbers by state. A timeline has up to 8,000 shares;
// as maps, they take most of the time of an answer.
func (s shareBody) MarshalJSON() ([]byte, error) {
	object := append(make([]byte, 0, 32), '{')
	for i, p := range s.of {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(object, `"`+p.State+`":`...)
		object = strconv.AppendFloat(object, math.Round(float64(p.Time)/float64(s.length)*1e4)/1e4, 'f', -1, 64)
	}
	return append(object, '}'), nil
}

type measuredBody struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// timeline is GET /api/v1/monitors/{monitor_id}/timeline.
func (h historyHandlers) timeline(c *gin.Context, id monitor.ID) error {
	query, err := readQuery(c, "from", "to", "buckets")
	if err != nil {
		return err
	}
	from, to, err := fromTo(query)
	if err != nil {
		return err
	}
	buckets := 0
	if query.Has("buckets") {
		if buckets, err = strconv.Atoi(query.Get("buckets")); err != nil || buckets < 1 {
			return refusef(monitor.InvalidConfig, "buckets is %.40q; accepted is a whole number from 1 to %d", query.Get("buckets"), history.MaxBuckets)
		}
	}
	found, err := h.service.Timeline(c.Request.Context(), id, from, to, buckets)
	if err != nil {
		return err
	}
	width := found.To.Sub(found.From) / time.Duration(len(found.Buckets))
	body := timelineBody{id, h.localTime(found.From), h.localTime(found.To), width.Seconds(), make([]timelineBucketBody, 0, len(found.Buckets))}
	for _, b := range found.Buckets {
		body.Buckets = append(body.Buckets, timelineBucketBody{
			From:   h.localTime(b.From),
			Stream: laneOf(b, b.Stream), Video: laneOf(b, b.Video), Audio: laneOf(b, b.Audio), Segments: laneOf(b, b.Segments),
			Luma: measuredOf(b.Luma), Level: measuredOf(b.Level),
		})
	}
	h.write(c, http.StatusOK, body)
	return nil
}

// laneOf shows the state of a lane in a bucket; nil where the monitor did not live.
func laneOf(b history.Bucket, share history.Share) *laneBody {
	if len(share) == 0 {
		return nil
	}
	return &laneBody{share.Worst(), shareBody{share, b.To.Sub(b.From)}}
}

// measuredOf shows a range; nil if nothing was measured.
func measuredOf(r monitor.Range) *measuredBody {
	if r.N == 0 {
		return nil
	}
	tenth := func(v float64) float64 { return math.Round(v*10) / 10 }
	return &measuredBody{tenth(r.Min), tenth(r.Mean), tenth(r.Max)}
}

type statisticsBody struct {
	By       history.Unit            `json:"by"`
	Zone     string                  `json:"zone"`
	From     time.Time               `json:"from"`
	To       time.Time               `json:"to"`
	Total    totalsBody              `json:"total"`
	Groups   []groupStatisticsBody   `json:"groups,omitempty"`
	Monitors []monitorStatisticsBody `json:"monitors"`
	Periods  []periodBody            `json:"periods"`
}

type totalsBody struct {
	Seconds        map[string]float64 `json:"seconds"`
	Alerts         int                `json:"alerts"`
	Incidents      int                `json:"incidents"`
	TimeToAlertSec *delayBody         `json:"time_to_alert_sec"`
}

type delayBody struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

type monitorStatisticsBody struct {
	MonitorID monitor.ID `json:"monitor_id"`
	totalsBody
}

type groupStatisticsBody struct {
	Value *string `json:"value"` // null: of the monitors without the label
	totalsBody
}

type periodBody struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	totalsBody
}

// statistics is GET /api/v1/statistics.
func (h historyHandlers) statistics(c *gin.Context) error {
	query, err := readQuery(c, "by", "zone", "from", "to", "monitor_id", labelParameter, "group")
	if err != nil {
		return err
	}
	q := histories.StatisticsQuery{By: history.Unit(query.Get("by")), Zone: h.zone, Group: query.Get("group")}
	if q.From, q.To, err = fromTo(query); err != nil {
		return err
	}
	if query.Has("zone") {
		if q.Zone, err = loadZone(query.Get("zone")); err != nil {
			return err
		}
	}
	if query.Has("monitor_id") {
		if q.MonitorID, err = monitor.ParseID(query.Get("monitor_id")); err != nil {
			return err
		}
	}
	if q.Labels, err = readLabelFilter(query); err != nil {
		return err
	}
	found, err := h.service.Statistics(c.Request.Context(), q)
	if err != nil {
		return err
	}
	shown := func(t time.Time) time.Time { return t.In(q.Zone) }
	body := statisticsBody{
		By: q.By, Zone: q.Zone.String(),
		From: shown(found.Periods[0].From), To: shown(found.Periods[len(found.Periods)-1].To),
		Total:    totalsOf(found.Total),
		Monitors: make([]monitorStatisticsBody, 0, len(found.Monitors)), Periods: make([]periodBody, 0, len(found.Periods)),
	}
	for _, value := range slices.Sorted(maps.Keys(found.Groups)) {
		body.Groups = append(body.Groups, groupStatisticsBody{wire.OrNull(value), totalsOf(found.Groups[value])})
	}
	for _, id := range found.MonitorIDs() {
		body.Monitors = append(body.Monitors, monitorStatisticsBody{id, totalsOf(*found.Monitors[id])})
	}
	for i, p := range found.Periods {
		body.Periods = append(body.Periods, periodBody{shown(p.From), shown(p.To), totalsOf(found.Summary.Periods[i])})
	}
	h.write(c, http.StatusOK, body)
	return nil
}

func totalsOf(t history.Totals) totalsBody {
	body := totalsBody{Seconds: map[string]float64{}, Alerts: t.Alerts, Incidents: t.Incidents}
	for word, d := range t.Time {
		body.Seconds[word] = d.Round(time.Millisecond).Seconds()
	}
	if n := t.ToAlert.N; n > 0 {
		body.TimeToAlertSec = &delayBody{(t.ToAlert.Sum / time.Duration(n)).Round(time.Millisecond).Seconds(), t.ToAlert.Max.Round(time.Millisecond).Seconds()}
	}
	return body
}

type sessionsBody struct {
	MonitorID monitor.ID    `json:"monitor_id"`
	Sessions  []sessionBody `json:"sessions"`
}

type sessionBody struct {
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	totalsBody
}

// sessions is GET /api/v1/monitors/{monitor_id}/sessions.
func (h historyHandlers) sessions(c *gin.Context, id monitor.ID) error {
	if _, err := readQuery(c); err != nil {
		return err
	}
	found, err := h.service.Sessions(c.Request.Context(), id)
	if err != nil {
		return err
	}
	body := sessionsBody{id, make([]sessionBody, 0, len(found))}
	for _, s := range found {
		body.Sessions = append(body.Sessions, sessionBody{h.localTime(s.From), h.localTimeOrNull(&s.To), totalsOf(s.Totals)})
	}
	h.write(c, http.StatusOK, body)
	return nil
}

// fromTo reads the times from and to; one that is left out is zero.
func fromTo(query url.Values) (from, to time.Time, err error) {
	return timesOf(query, "from", "to")
}

// timesOf reads two parameters that are times; zero: left out.
func timesOf(query url.Values, first, second string) (from, to time.Time, err error) {
	for _, p := range []struct {
		name string
		into *time.Time
	}{{first, &from}, {second, &to}} {
		if !query.Has(p.name) {
			continue
		}
		if *p.into, err = time.Parse(time.RFC3339, query.Get(p.name)); err != nil || p.into.IsZero() {
			return from, to, refusef(monitor.InvalidConfig, "%s is %.40q; accepted is an ISO 8601 time with its zone, in which + is written %%2B", p.name, query.Get(p.name))
		}
	}
	return from, to, nil
}

// maxZone limits the length of a time zone's name.
const maxZone = 64

// loadZone returns a time zone by its name in the IANA database.
func loadZone(name string) (*time.Location, error) {
	refused := refusef(monitor.InvalidConfig, "zone is %.40q; accepted is a name of the IANA time zone database, such as Asia/Tokyo", name)
	if name == "" || name == "Local" || len(name) > maxZone || strings.HasPrefix(name, "/") {
		return nil, refused
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, refused
	}
	return zone, nil
}
