package feed

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// maxBatch is how many entries Next returns at most.
const maxBatch = 256

// Reader is one reader of the feed. One goroutine uses it.
type Reader struct {
	feed       *Feed
	keyID      string
	position   feed.Position // the zero value: none, the next message is state.replace
	heartbeats int64         // of the Feed at the last call of Next
	live       bool          // has read from the ring
	ended      bool

	thumbnails bool  // gets announcements
	announced  int64 // how many of them it has got, or missed
}

// Follow adds a reader, with the key that it has, that continues from a position. It gets
// state.replace first if nothing can be continued from there, as from the zero position. The
// caller closes the reader. Errors: ErrTooManyReaders, ErrTooManyReadersOfKey, ErrNotFollowing.
func (f *Feed) Follow(keyID string, from feed.Position) (*Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.following:
		return nil, ErrNotFollowing
	case f.readers >= f.cfg.MaxReaders:
		return nil, ErrTooManyReaders
	case f.perKey[keyID] >= f.cfg.MaxPerKey:
		return nil, ErrTooManyReadersOfKey
	}
	f.readers++
	f.perKey[keyID]++
	return &Reader{feed: f, keyID: keyID, position: from}, nil
}

// Close removes the reader. It is called once.
func (r *Reader) Close() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.feed.readers--
	if r.feed.perKey[r.keyID]--; r.feed.perKey[r.keyID] == 0 {
		delete(r.feed.perKey, r.keyID)
	}
}

// Next blocks until there are messages and returns them in order. The last one is
// bye; then Next returns io.EOF. A reader that calls Next too seldom loses what the
// gateway keeps in memory, and gets bye. While the database does not answer, a reader
// that needs it gets heartbeats only. Other errors: ctx is done.
func (r *Reader) Next(ctx context.Context) ([]feed.Message, error) {
	for !r.ended {
		messages, changed, err := r.poll(ctx)
		if err != nil || len(messages) > 0 {
			return messages, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
	return nil, io.EOF
}

// poll returns the next messages, which may be none. The Feed closes changed at its next
// change.
func (r *Reader) poll(ctx context.Context) (messages []feed.Message, changed <-chan struct{}, err error) {
	f := r.feed
	f.mu.Lock()
	changed = f.changed
	following, held := f.following, f.known && f.ring.holds(r.position)
	tooSlow := f.known && r.live && r.position.Epoch == f.ring.epoch && r.position.Version < f.ring.base
	var heartbeat []feed.Message
	if f.heartbeats != r.heartbeats {
		r.heartbeats, heartbeat = f.heartbeats, []feed.Message{f.heartbeat}
	}
	if held {
		r.live, messages = true, f.ring.after(r.position, maxBatch)
	}
	announced := r.announcedSince()
	f.mu.Unlock()
	switch {
	case !following:
		messages, err = r.bye(feed.Shutdown)
		return messages, changed, err
	case tooSlow:
		messages, err = r.bye(feed.TooSlow)
		return messages, changed, err
	case !held:
		messages = r.readStore(ctx)
	}
	if len(messages) > 0 {
		r.position = messages[len(messages)-1].Position
	}
	return slices.Concat(messages, heartbeat, announced), changed, nil
}

func (r *Reader) bye(reason string) ([]feed.Message, error) {
	r.ended = true
	message, err := newMessage(feed.Position{}, feed.Bye{Reason: reason}, r.feed.cfg.Now())
	return []feed.Message{message}, err
}

// readStore returns the messages after a position that the ring does not hold. None
// means that the Feed is behind the reader, which may have come from another gateway,
// or that the store failed; the reader asks again at the next change or heartbeat.
func (r *Reader) readStore(ctx context.Context) []feed.Message {
	messages, err := r.feed.Read(ctx, r.position)
	if err != nil && ctx.Err() == nil {
		r.feed.logFailure(err)
	}
	if len(messages) == 0 {
		select {
		case r.feed.again <- struct{}{}:
		default:
		}
	}
	return messages
}

// Read returns the messages after a position from the store, without waiting: a page of
// entries, or state.replace if nothing can be continued from there. None means that
// there is nothing new. It blocks for its queries.
func (f *Feed) Read(ctx context.Context, from feed.Position) ([]feed.Message, error) {
	release, err := f.reads.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var epoch string
	if from != (feed.Position{}) {
		page, err := f.store.ReadFeed(ctx, from.Version, f.cfg.PageSize)
		if err != nil {
			return nil, err
		}
		if from.Continues(page) {
			return toMessages(page)
		}
		epoch = page.Epoch
	}
	state, err := f.state.get(ctx, f, from, epoch)
	if err != nil {
		return nil, err
	}
	return []feed.Message{state}, nil
}

// sharedState lets readers that connect at the same time share one state.replace. After a
// restart all readers of a gateway connect at once, and the message is large.
type sharedState struct {
	lock    wait.Slots // of one, for the fields below; waiting for it ends with a context
	message feed.Message
	at      time.Time // when its query began
}

// get returns state.replace for a reader that cannot continue from a position. The
// epoch is that of the feed; "": unknown.
func (s *sharedState) get(ctx context.Context, f *Feed, from feed.Position, epoch string) (feed.Message, error) {
	release, err := s.lock.Take(ctx)
	if err != nil {
		return feed.Message{}, err
	}
	defer release()
	now := f.cfg.Now()
	age := now.Sub(s.at)
	recent := 0 <= age && age < stateReuse
	if recent && s.message.Position != from && (epoch == "" || s.message.Position.Epoch == epoch) {
		return s.message, nil
	}
	state, position, err := f.store.ReadState(ctx)
	if err != nil {
		return feed.Message{}, err
	}
	message, err := newMessage(position, state, now)
	if err != nil {
		return feed.Message{}, err
	}
	s.message, s.at = message, now
	return message, nil
}
