package twitchapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/stream-monitor/stream-monitor/adapters/internal/officialapi"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

var (
	_ pushes.API      = (*Client)(nil)
	_ pushes.Conduits = (*Client)(nil)
)

// maxPages is how many pages of 100 subscriptions are read: as many as the largest total cost allows.
const maxPages = 100

// The paths of EventSub.
const (
	subscriptionsPath = "/eventsub/subscriptions"
	conduitsPath      = "/eventsub/conduits"
)

// condition is what a subscription is about.
type condition struct {
	UserID string `json:"broadcaster_user_id,omitempty"`
}

// transport is the way on which a subscription, or a shard, sends.
type transport struct {
	Method   string `json:"method"` // webhook, websocket or conduit
	Callback string `json:"callback,omitempty"`
	Secret   string `json:"secret,omitempty"`
	Session  string `json:"session_id,omitempty"`
	Conduit  string `json:"conduit_id,omitempty"`
}

// ask makes a call, and decodes the answer into v unless that is nil. Errors: those of pushes.API.
func (c *Client) ask(ctx context.Context, one officialapi.Call, v any) error {
	one.Read = func(body []byte) error {
		if v != nil && json.Unmarshal(body, v) != nil {
			return errors.New("the response is none of EventSub")
		}
		return nil
	}
	r := c.call(ctx, one)
	switch {
	case r.Status/100 == 2 && r.Detail == "":
		return nil
	case r.Status == 0 || r.Status/100 == 2:
		return errors.New(r.Detail)
	}
	return &pushes.Refusal{Status: r.Status, Detail: r.Failure().Detail}
}

// unless returns nil in place of a refusal with a status.
func unless(status int, err error) error {
	if refusal, is := errors.AsType[*pushes.Refusal](err); is && refusal.Status == status {
		return nil
	}
	return err
}

// UserIDs implements pushes.API.
func (c *Client) UserIDs(ctx context.Context, logins []string) (map[string]string, error) {
	var answer struct{ Data []struct{ ID, Login string } }
	err := c.ask(ctx, officialapi.Call{URL: "/users?" + url.Values{"login": logins}.Encode()}, &answer)
	ids := map[string]string{}
	for _, u := range answer.Data {
		ids[u.Login] = u.ID
	}
	return ids, err
}

// Subscriptions implements pushes.API.
func (c *Client) Subscriptions(ctx context.Context) (all eventsub.Existing, err error) {
	query := url.Values{}
	for range maxPages {
		var page struct {
			Data []struct {
				ID, Status string
				Type       eventsub.Type
				Cost       int
				Condition  condition
				Transport  transport
			}
			Cost       int `json:"total_cost"`
			MaxCost    int `json:"max_total_cost"`
			Pagination struct{ Cursor string }
		}
		if err := c.ask(ctx, officialapi.Call{URL: subscriptionsPath + "?" + query.Encode()}, &page); err != nil {
			return all, err
		}
		all.Cost, all.MaxCost = page.Cost, page.MaxCost
		for _, s := range page.Data {
			all.Subscriptions = append(all.Subscriptions, eventsub.Subscription{
				ID: s.ID, Key: eventsub.Key{Type: s.Type, UserID: s.Condition.UserID}, Status: s.Status, Cost: s.Cost,
				Transport: eventsub.Transport{Callback: s.Transport.Callback, Conduit: s.Transport.Conduit},
			})
		}
		if page.Pagination.Cursor == "" {
			break
		}
		query.Set("after", page.Pagination.Cursor)
	}
	return all, nil
}

// Subscribe implements pushes.API.
func (c *Client) Subscribe(ctx context.Context, k eventsub.Key, t eventsub.Transport, secret eventsub.Secret) error {
	by := transport{Method: "conduit", Conduit: t.Conduit}
	if t.Callback != "" {
		by = transport{Method: "webhook", Callback: t.Callback, Secret: string(secret)}
	}
	return unless(http.StatusConflict, c.ask(ctx, officialapi.Call{URL: subscriptionsPath, JSON: map[string]any{
		"type": k.Type, "version": "1", "condition": condition{k.UserID}, "transport": by,
	}}, nil))
}

// Unsubscribe implements pushes.API.
func (c *Client) Unsubscribe(ctx context.Context, id string) error {
	return unless(http.StatusNotFound, c.ask(ctx, officialapi.Call{Method: http.MethodDelete, URL: subscriptionsPath + "?" + url.Values{"id": {id}}.Encode()}, nil))
}

// conduits is the answer to each question about conduits.
type conduits struct{ Data []struct{ ID string } }

// Conduits implements pushes.Conduits.
func (c *Client) Conduits(ctx context.Context) (ids []string, err error) {
	var answer conduits
	err = c.ask(ctx, officialapi.Call{URL: conduitsPath}, &answer)
	for _, one := range answer.Data {
		ids = append(ids, one.ID)
	}
	return ids, err
}

// CreateConduit implements pushes.Conduits.
func (c *Client) CreateConduit(ctx context.Context) (string, error) {
	var answer conduits
	err := c.ask(ctx, officialapi.Call{URL: conduitsPath, JSON: map[string]int{"shard_count": 1}}, &answer)
	switch {
	case err != nil:
		return "", err
	case len(answer.Data) != 1 || answer.Data[0].ID == "":
		return "", errors.New("the response names no conduit")
	}
	return answer.Data[0].ID, nil
}

// AssignShard implements pushes.Conduits.
func (c *Client) AssignShard(ctx context.Context, conduit, session string) error {
	type shard struct {
		ID        string    `json:"id"`
		Transport transport `json:"transport"`
	}
	var answer struct {
		Errors []struct{ Message string }
	}
	err := c.ask(ctx, officialapi.Call{Method: http.MethodPatch, URL: conduitsPath + "/shards", JSON: map[string]any{
		"conduit_id": conduit, "shards": []shard{{"0", transport{Method: "websocket", Session: session}}},
	}}, &answer)
	if err == nil && len(answer.Errors) > 0 {
		err = errors.New(answer.Errors[0].Message)
	}
	return err
}
