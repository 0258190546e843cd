package youtubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// oauth is where Google exchanges a refresh token for an access token.
const oauth = "https://oauth2.googleapis.com/token"

// The parts and fields that the Live Streaming API is asked for. part=cdn has the stream key, so nothing asks for it.
const (
	broadcastParts  = "id,status,contentDetails"
	broadcastFields = "kind,items(id,status/lifeCycleStatus,contentDetails/boundStreamId)"
	signalParts     = "id,status"
	signalFields    = "kind,items(id,status(streamStatus,healthStatus(status,lastUpdateTimeSeconds,configurationIssues(type,severity,reason,description))))"
	perPage         = "50" // the most of a page; the broadcasts beyond are not seen

	maxWord = 60 // bytes of a word of the API
)

// Owner asks the YouTube Live Streaming API with the logins of owners (decision S24). It may be used concurrently.
type Owner struct {
	caller         officialapi.Caller
	service, oauth string
	id, secret     string
}

// NewOwner returns an Owner that uses client with its proxies and certificates (decision O8), and the id and the secret of an OAuth
// client. It replaces the client's redirect policy.
func NewOwner(client *http.Client, id, secret string) *Owner {
	return newOwnerAt(service, oauth, client, id, secret)
}

func newOwnerAt(service, oauth string, client *http.Client, id, secret string) *Owner {
	return &Owner{officialapi.NewCaller(client), service, oauth, id, secret}
}

// Access implements ingests.API. It blocks for at most officialapi.Timeout.
func (o *Owner) Access(ctx context.Context, refresh string) (token string, life time.Duration, r officialstate.Response) {
	r = o.caller.Make(ctx, officialapi.Call{
		URL:     o.oauth,
		Form:    url.Values{"grant_type": {"refresh_token"}, "client_id": {o.id}, "client_secret": {o.secret}, "refresh_token": {refresh}},
		Secrets: []string{refresh, o.secret}, Refused: readTokenRefusal,
		Read: func(body []byte) error {
			granted, err := officialapi.ReadToken(body)
			token, life = granted.Access, granted.Life
			return err
		},
	})
	return token, life, r
}

// readTokenRefusal reads the body of a refusal, as RFC 6749 has it (section 5.2).
func readTokenRefusal(_ int, body []byte) (reasons []string, detail string) {
	var refusal struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(body, &refusal); err != nil || refusal.Error == "" {
		return nil, officialapi.NoneOfTheAPI
	}
	return []string{refusal.Error}, refusal.Error + ": " + refusal.Description
}

// Broadcasts implements ingests.API. It blocks for at most officialapi.Timeout.
func (o *Owner) Broadcasts(ctx context.Context, access string) (all []ingest.Broadcast, r officialstate.Response) {
	query := url.Values{"part": {broadcastParts}, "broadcastStatus": {"active"}, "broadcastType": {"all"}, "maxResults": {perPage}, "fields": {broadcastFields}}
	r = o.list(ctx, access, "/liveBroadcasts", query, func(body []byte) error {
		var answer struct {
			Kind  string
			Items []struct {
				ID             string
				Status         struct{ LifeCycleStatus string }
				ContentDetails struct{ BoundStreamID string }
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil || answer.Kind != "youtube#liveBroadcastListResponse" {
			return errors.New("the response is not a list of broadcasts")
		}
		for _, b := range answer.Items {
			all = append(all, ingest.Broadcast{VideoID: b.ID, Status: word(b.Status.LifeCycleStatus), StreamID: b.ContentDetails.BoundStreamID})
		}
		return nil
	})
	return all, r
}

// Signals implements ingests.API. It blocks for at most officialapi.Timeout.
func (o *Owner) Signals(ctx context.Context, access string, streamIDs []string) (all []ingest.Signal, r officialstate.Response) {
	query := url.Values{"part": {signalParts}, "id": {strings.Join(streamIDs, ",")}, "maxResults": {perPage}, "fields": {signalFields}}
	r = o.list(ctx, access, "/liveStreams", query, func(body []byte) error {
		var answer struct {
			Kind  string
			Items []struct {
				ID     string
				Status struct {
					StreamStatus string
					HealthStatus struct {
						Status                string
						LastUpdateTimeSeconds json.RawMessage // a number, or one as a string
						ConfigurationIssues   []ingest.Issue
					}
				}
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil || answer.Kind != "youtube#liveStreamListResponse" {
			return errors.New("the response is not a list of streams")
		}
		for _, s := range answer.Items {
			health := s.Status.HealthStatus
			h := ingest.Health{Stream: word(s.Status.StreamStatus), Signal: word(health.Status)}
			for _, i := range health.ConfigurationIssues {
				h.Issues = append(h.Issues, ingest.Issue{
					Type: word(i.Type), Severity: ingest.Severity(word(string(i.Severity))), Reason: outbound.OneLine(i.Reason), Description: outbound.OneLine(i.Description),
				})
			}
			if at, err := strconv.ParseInt(strings.Trim(string(health.LastUpdateTimeSeconds), `"`), 10, 64); err == nil && at > 0 {
				h.JudgedAt = time.Unix(at, 0).UTC()
			}
			all = append(all, ingest.Signal{StreamID: s.ID, Health: h})
		}
		return nil
	})
	return all, r
}

// word returns a word of the API as it can be stored and shown.
func word(s string) string { return monitor.StorableText(outbound.OneLine(s), maxWord) }

// list asks for a list with an access token.
func (o *Owner) list(ctx context.Context, access, path string, query url.Values, read func([]byte) error) officialstate.Response {
	return o.caller.Make(ctx, officialapi.Call{
		URL: o.service + path + "?" + query.Encode(), Header: http.Header{"Authorization": {"Bearer " + access}}, Secrets: []string{access},
		Refused: readRefusal, Read: read,
	})
}
