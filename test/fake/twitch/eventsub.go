package twitch

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// maxTotalCost is how many subscriptions the application may have.
const maxTotalCost = 10_000

// EventSub is the fake EventSub: subscriptions, conduits with one shard, and sockets. Each conduit keeps the session that its shard sends to.
type EventSub struct {
	mu            sync.Mutex
	gateway       string
	subscriptions []*Subscription
	conduits      map[string]string  // the session of each
	sockets       map[string]*socket // of each session
	sent          int
}

// Subscription is a subscription of the application.
type Subscription struct {
	ID        string            `json:"id"`
	Status    string            `json:"status"`
	Type      string            `json:"type"`
	Version   string            `json:"version"`
	Cost      int               `json:"cost"`
	Condition map[string]string `json:"condition"`
	Transport map[string]string `json:"transport"`

	secret string
}

// socket is an open socket. All that is sent is written by the goroutine of its request.
type socket struct {
	frames chan string
	end    func(code websocket.StatusCode, reason string)
}

// UserID is the id of a login.
func UserID(login string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(login))
	return fmt.Sprint(h.Sum32())
}

// SendWebhooksTo lets webhooks go to a gateway, such as http://127.0.0.1:8080, in place of the host of their callback.
func (s *Site) SendWebhooksTo(gateway string) {
	s.EventSub.mu.Lock()
	defer s.EventSub.mu.Unlock()
	s.EventSub.gateway = gateway
}

// eventSub answers the questions about users, subscriptions and conduits.
func (s *Site) eventSub(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	e := &s.EventSub
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, "/helix/") {
	case "GET users":
		data := []object{}
		for _, login := range r.URL.Query()["login"] {
			if s.channel(login).state != Gone {
				data = append(data, object{"id": UserID(login), "login": login})
			}
		}
		writeJSON(w, object{"data": data})
	case "GET eventsub/subscriptions":
		all := append([]*Subscription{}, e.subscriptions...)
		page, cursor := all, object{}
		if after := r.URL.Query().Get("after"); after != "" {
			page = all[slices.IndexFunc(all, func(one *Subscription) bool { return one.ID == after })+1:]
		}
		if len(page) > 100 {
			page = page[:100]
			cursor["cursor"] = page[99].ID
		}
		writeJSON(w, object{"data": page, "total": len(all), "total_cost": len(all), "max_total_cost": maxTotalCost, "pagination": cursor})
	case "POST eventsub/subscriptions":
		e.subscribe(w, body)
	case "DELETE eventsub/subscriptions":
		before := len(e.subscriptions)
		e.subscriptions = slices.DeleteFunc(e.subscriptions, func(one *Subscription) bool { return one.ID == r.URL.Query().Get("id") })
		if len(e.subscriptions) == before {
			refuse(w, http.StatusNotFound, "subscription was not found")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case "GET eventsub/conduits":
		data := []object{}
		for id := range e.conduits {
			data = append(data, object{"id": id, "shard_count": 1})
		}
		writeJSON(w, object{"data": data})
	case "POST eventsub/conduits":
		if len(e.conduits) >= 5 {
			refuse(w, http.StatusTooManyRequests, "conduit limit reached")
			return
		}
		if e.conduits == nil {
			e.conduits = map[string]string{}
		}
		id := rand.Text()
		e.conduits[id] = ""
		writeJSON(w, object{"data": []object{{"id": id, "shard_count": 1}}})
	case "PATCH eventsub/conduits/shards":
		e.assign(w, body)
	default:
		http.NotFound(w, r)
	}
}

// subscribe makes a subscription. The webhook of a callback is verified first.
func (e *EventSub) subscribe(w http.ResponseWriter, body []byte) {
	one := &Subscription{ID: rand.Text(), Status: "enabled", Cost: 1}
	err := json.Unmarshal(body, one)
	same := func(other *Subscription) bool {
		return other.Type == one.Type && other.Condition["broadcaster_user_id"] == one.Condition["broadcaster_user_id"] && other.Transport["callback"] == one.Transport["callback"] && other.Transport["conduit_id"] == one.Transport["conduit_id"]
	}
	one.secret = one.Transport["secret"]
	delete(one.Transport, "secret")
	_, conduit := e.conduits[one.Transport["conduit_id"]]
	webhook := one.Transport["method"] == "webhook"
	switch {
	case err != nil || one.Version != "1" || webhook && (len(one.secret) < 10 || len(one.secret) > 100 || !strings.HasPrefix(one.Transport["callback"], "https://")):
		refuse(w, http.StatusBadRequest, "malformed")
		return
	case !webhook && !conduit:
		refuse(w, http.StatusBadRequest, "no such conduit")
		return
	case slices.ContainsFunc(e.subscriptions, same):
		refuse(w, http.StatusConflict, "subscription already exists")
		return
	case len(e.subscriptions) >= maxTotalCost:
		refuse(w, http.StatusTooManyRequests, "total cost exceeded")
		return
	}
	if webhook {
		one.Status = "webhook_callback_verification_pending"
		go e.verify(one)
	}
	e.subscriptions = append(e.subscriptions, one)
	w.WriteHeader(http.StatusAccepted)
	writeJSON(w, object{"data": []*Subscription{one}, "total": len(e.subscriptions), "total_cost": len(e.subscriptions), "max_total_cost": maxTotalCost})
}

// verify asks a webhook for its challenge.
func (e *EventSub) verify(one *Subscription) {
	e.mu.Lock()
	copied, challenge := *one, rand.Text()
	e.mu.Unlock()
	reply, err := e.post(copied, "webhook_callback_verification", object{"challenge": challenge, "subscription": copied})
	e.mu.Lock()
	defer e.mu.Unlock()
	one.Status = "enabled"
	if err != nil || reply != challenge {
		one.Status = "webhook_callback_verification_failed"
	}
}

// assign lets the shard of a conduit send to a session.
func (e *EventSub) assign(w http.ResponseWriter, body []byte) {
	var asked struct {
		Conduit string `json:"conduit_id"`
		Shards  []struct {
			ID        string
			Transport map[string]string
		}
	}
	err := json.Unmarshal(body, &asked)
	_, known := e.conduits[asked.Conduit]
	switch {
	case err != nil || len(asked.Shards) != 1 || asked.Shards[0].ID != "0":
		refuse(w, http.StatusBadRequest, "malformed")
	case !known:
		refuse(w, http.StatusNotFound, "conduit not found")
	case e.sockets[asked.Shards[0].Transport["session_id"]] == nil:
		w.WriteHeader(http.StatusAccepted)
		writeJSON(w, object{"data": []object{}, "errors": []object{{"id": "0", "message": "The session is disconnected", "code": "websocket_session_not_found"}}})
	default:
		e.conduits[asked.Conduit] = asked.Shards[0].Transport["session_id"]
		w.WriteHeader(http.StatusAccepted)
		writeJSON(w, object{"data": []object{{"id": "0", "status": "enabled"}}, "errors": []object{}})
	}
}

// serveSocket serves a socket of eventsub.wss.twitch.tv. One whose session gets no shard in 10 s is closed.
func (s *Site) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(conn.CloseRead(r.Context()))
	defer cancel()
	e, session := &s.EventSub, rand.Text()
	one := &socket{frames: make(chan string, 1000), end: func(code websocket.StatusCode, reason string) {
		_ = conn.Close(code, reason)
		cancel()
	}}
	e.mu.Lock()
	if e.sockets == nil {
		e.sockets = map[string]*socket{}
	}
	e.sockets[session] = one
	one.frames <- e.frame("session_welcome", object{"session": object{"id": session, "status": "connected", "keepalive_timeout_seconds": 10}})
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.sockets, session)
		_ = conn.CloseNow()
	}()
	unused := time.AfterFunc(10*time.Second, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, has := range e.conduits {
			if has == session {
				return
			}
		}
		go one.end(4003, "connection unused")
	})
	defer unused.Stop()
	for {
		var frame string
		select {
		case frame = <-one.frames:
		case <-time.After(10 * time.Second):
			e.mu.Lock()
			frame = e.frame("session_keepalive", object{})
			e.mu.Unlock()
		case <-ctx.Done():
			return
		}
		if conn.Write(ctx, websocket.MessageText, []byte(frame)) != nil {
			return
		}
	}
}

// frame returns a frame with an id of its own. The caller holds mu.
func (e *EventSub) frame(kind string, payload object) string {
	e.sent++
	raw, _ := json.Marshal(object{"metadata": object{"message_id": fmt.Sprintf("frame-%d", e.sent), "message_type": kind, "message_timestamp": time.Now().UTC().Format(time.RFC3339Nano)}, "payload": payload})
	return string(raw)
}

// Push sends the subscribers of a login that a broadcast has begun (stream.online) or ended (stream.offline). It returns to how many.
func (s *Site) Push(login, event string) int {
	c := s.channel(login)
	told := object{"id": c.id(), "broadcaster_user_id": UserID(login), "broadcaster_user_login": login, "type": "live", "started_at": c.started.UTC().Format(time.RFC3339)}
	return s.EventSub.send(login, event, "notification", told)
}

// Revoke ends the subscriptions to an event of a login, and says so. It returns how many.
func (s *Site) Revoke(login, event string) int {
	e := &s.EventSub
	e.mu.Lock()
	for _, one := range e.of(login, event) {
		one.Status = "user_removed"
	}
	e.mu.Unlock()
	return e.send(login, event, "revocation", nil)
}

// of returns the subscriptions to an event of a login. The caller holds mu.
func (e *EventSub) of(login, event string) (all []*Subscription) {
	for _, one := range e.subscriptions {
		if one.Type == event && one.Condition["broadcaster_user_id"] == UserID(login) {
			all = append(all, one)
		}
	}
	return all
}

// send sends a message to the subscribers of an event of a login.
func (e *EventSub) send(login, event, kind string, told object) (sent int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.of(login, event) {
		payload := object{"subscription": *one}
		if told != nil {
			payload["event"] = told
		}
		if one.Transport["method"] == "webhook" {
			sent++
			copied := *one
			go func() { _, _ = e.post(copied, kind, payload) }()
		} else if to := e.sockets[e.conduits[one.Transport["conduit_id"]]]; to != nil {
			sent++
			to.frames <- e.frame(kind, payload)
		}
	}
	return sent
}

// post sends a webhook to the gateway, and returns what it replies.
func (e *EventSub) post(one Subscription, kind string, payload object) (reply string, err error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(one.Transport["callback"], "https://"), "/")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	e.mu.Lock()
	gateway := e.gateway
	e.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/"+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	id, at := rand.Text(), time.Now().UTC().Format(time.RFC3339Nano)
	mac := hmac.New(sha256.New, []byte(one.secret))
	_, _ = mac.Write(slices.Concat([]byte(id+at), body))
	for name, value := range map[string]string{"Id": id, "Type": kind, "Timestamp": at, "Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil))} {
		r.Header.Set("Twitch-Eventsub-Message-"+name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("the answer is %s", resp.Status)
	}
	return string(raw), err
}

// CloseSockets closes all sockets with a code, and returns how many there were.
func (s *Site) CloseSockets(code int) int {
	return s.EventSub.each(func(one *socket) { go one.end(websocket.StatusCode(code), "closed for a test") })
}

// AskToReconnect asks all sockets for others, and returns how many there are.
func (s *Site) AskToReconnect() int {
	e := &s.EventSub
	return e.each(func(one *socket) {
		one.frames <- e.frame("session_reconnect", object{"session": object{"id": "x", "status": "reconnecting", "reconnect_url": "wss://cell-b.wss.twitch.tv/ws"}})
	})
}

func (e *EventSub) each(do func(*socket)) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.sockets {
		do(one)
	}
	return len(e.sockets)
}

// Subscriptions returns the subscriptions that send, as TYPE/LOGIN of some logins, and how many there are in all.
func (s *Site) Subscriptions(logins ...string) (of []string, all int) {
	e := &s.EventSub
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, login := range logins {
		for _, event := range []string{"stream.online", "stream.offline"} {
			for _, one := range e.of(login, event) {
				if one.Status == "enabled" {
					of = append(of, event+"/"+login)
				}
			}
		}
	}
	return of, len(e.subscriptions)
}
