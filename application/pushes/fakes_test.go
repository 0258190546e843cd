package pushes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// world is Twitch and the store of all gateways, in the time of a synctest bubble.
type world struct {
	mu       sync.Mutex
	log      *logbuffer.Buffer
	state    eventsub.State
	logins   []string
	accepted []eventsub.Message

	unknown       map[string]bool // logins
	subscriptions map[string]eventsub.Subscription
	made          int
	maxCost       int
	conduits      []string
	shard         string         // the session that the shard sends to
	calls         map[string]int // of each method
	refuse        func(method string, about any) error
	sockets       []*socket
	dialled       []string
	unreachable   error
}

func newWorld(logins ...string) *world {
	return &world{log: &logbuffer.Buffer{}, logins: logins, subscriptions: map[string]eventsub.Subscription{}, calls: map[string]int{}, maxCost: 10_000, refuse: func(string, any) error { return nil }}
}

// follow runs a Follower of a gateway until the returned function is called.
func (w *world) follow(t *testing.T, cfg pushes.FollowerConfig) (stop func()) {
	t.Helper()
	cfg.Client = "app"
	service := pushes.NewService(w, "the secret", time.Now, slog.New(slog.NewTextHandler(w.log, nil)))
	follower := pushes.NewFollower(service, w, w, w, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := follower.Run(ctx); err != nil {
			t.Errorf("it ends with %v", err)
		}
	}()
	return func() { cancel(); <-done }
}

func (w *world) call(method string, about any) error {
	w.calls[method]++
	return w.refuse(method, about)
}

// took returns the calls since the last time.
func (w *world) took() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.calls = map[string]int{} }()
	return w.calls
}

// keys returns the subscriptions as TYPE/USER, in order.
func (w *world) keys() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subscriptions {
		all = append(all, fmt.Sprintf("%s/%s", s.Type, s.UserID))
	}
	slices.Sort(all)
	return all
}

// change changes the world while nobody else does.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) AcceptMessage(_ context.Context, m eventsub.Message, _ time.Time) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.accepted, func(a eventsub.Message) bool { return a.ID == m.ID }) {
		return false, nil
	}
	w.accepted = append(w.accepted, m)
	if m.Kind == eventsub.Revocation {
		w.state.RevokedAt = time.Now()
	}
	return true, nil
}

// ids returns the ids of the messages that were accepted.
func (w *world) ids() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.accepted {
		ids = append(ids, m.ID)
	}
	return ids
}

func (w *world) EventSubTargets(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.logins), nil
}

func (w *world) EventSubState(context.Context) (eventsub.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, nil
}

func (w *world) ChangeEventSubState(_ context.Context, change func(*eventsub.State)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.state)
	return nil
}

func (w *world) ExpireMessages(context.Context, time.Duration, int) error { return nil }

func (w *world) UserIDs(_ context.Context, logins []string) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := map[string]string{}
	for _, login := range logins {
		if !w.unknown[login] {
			ids[login] = "id of " + login
		}
	}
	return ids, w.call("users", len(logins))
}

func (w *world) Subscriptions(context.Context) (eventsub.Existing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Collect(maps.Values(w.subscriptions))
	return eventsub.Existing{Subscriptions: all, Cost: len(all), MaxCost: w.maxCost}, w.call("list", nil)
}

func (w *world) Subscribe(_ context.Context, k eventsub.Key, t eventsub.Transport, _ eventsub.Secret) error {
	time.Sleep(100 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.call("subscribe", k); err != nil {
		return err
	}
	w.made++
	id := fmt.Sprint(w.made)
	w.subscriptions[id] = eventsub.Subscription{ID: id, Key: k, Status: "enabled", Cost: 1, Transport: t}
	return nil
}

func (w *world) Unsubscribe(_ context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subscriptions, id)
	return w.call("unsubscribe", id)
}

func (w *world) Conduits(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.conduits), w.call("conduits", nil)
}

func (w *world) CreateConduit(context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprintf("conduit %d", len(w.conduits)+1)
	w.conduits = append(w.conduits, id)
	return id, w.call("create conduit", nil)
}

func (w *world) AssignShard(_ context.Context, conduit, session string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.conduits, conduit) {
		return &pushes.Refusal{Status: 404, Detail: "no such conduit"}
	}
	w.shard = session
	return w.call("assign", session)
}

// socket is a connection to the fake Twitch.
type socket struct {
	url    string
	frames chan string
	ends   chan error
	once   sync.Once
	closed chan struct{}
}

func (w *world) Dial(_ context.Context, url string) (pushes.Socket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialled = append(w.dialled, url)
	if w.unreachable != nil {
		return nil, w.unreachable
	}
	s := &socket{url: url, frames: make(chan string, 1000), ends: make(chan error, 1), closed: make(chan struct{})}
	w.sockets = append(w.sockets, s)
	s.send("session_welcome", fmt.Sprintf(`{"session":{"id":"session %d","keepalive_timeout_seconds":30}}`, len(w.sockets)))
	return s, nil
}

// newest returns the newest socket.
func (w *world) newest() *socket {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sockets[len(w.sockets)-1]
}

func (s *socket) Read(ctx context.Context) ([]byte, error) {
	select {
	case raw := <-s.frames:
		return []byte(raw), nil
	default:
	}
	select {
	case raw := <-s.frames:
		return []byte(raw), nil
	case err := <-s.ends:
		return nil, err
	case <-s.closed:
		return nil, errors.New("closed")
	case <-ctx.Done():
		s.Close()
		return nil, ctx.Err()
	}
}

func (s *socket) Close() { s.once.Do(func() { close(s.closed) }) }

func (s *socket) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

func (s *socket) send(kind, payload string) { s.sendAs("of "+kind, kind, payload) }

func (s *socket) sendAs(id, kind, payload string) {
	s.frames <- fmt.Sprintf(`{"metadata":{"message_id":%q,"message_type":%q,"message_timestamp":%q},"payload":%s}`, id, kind, time.Now().Format(time.RFC3339Nano), payload)
}

// push sends that a login has begun.
func (s *socket) push(id, login string) {
	s.sendAs(id, "notification", fmt.Sprintf(`{"subscription":{"type":"stream.online","condition":{"broadcaster_user_id":"7"}},"event":{"broadcaster_user_id":"7","broadcaster_user_login":%q,"type":"live"}}`, login))
}
