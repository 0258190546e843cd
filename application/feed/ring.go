package feed

import "github.com/stream-monitor/stream-monitor/domain/feed"

// ring holds the newest entries of one epoch in memory, bounded by their number and
// their bytes.
type ring struct {
	maxEntries, maxBytes int

	epoch    string
	base     int64 // the version before the first message
	messages []feed.Message
	bytes    int
}

// position is that of the newest entry.
func (r *ring) position() feed.Position {
	return feed.Position{Epoch: r.epoch, Version: r.base + int64(len(r.messages))}
}

// reset empties the ring and continues from the head of a page.
func (r *ring) reset(page feed.Page) {
	r.epoch, r.base, r.messages, r.bytes = page.Epoch, page.Head, nil, 0
}

// append adds the messages that follow the newest one, and drops the oldest beyond
// the limits.
func (r *ring) append(messages []feed.Message) {
	for _, m := range messages {
		r.messages = append(r.messages, m)
		r.bytes += len(m.Line)
	}
	for len(r.messages) > r.maxEntries || r.bytes > r.maxBytes && len(r.messages) > 1 {
		r.bytes -= len(r.messages[0].Line)
		r.messages[0] = feed.Message{} // for the garbage collector
		r.messages, r.base = r.messages[1:], r.base+1
	}
}

// holds reports whether the ring has everything after p.
func (r *ring) holds(p feed.Position) bool {
	return p.Epoch == r.epoch && r.base <= p.Version && p.Version <= r.position().Version
}

// after returns the messages after a position that the ring holds, at most limit.
func (r *ring) after(p feed.Position, limit int) []feed.Message {
	rest := r.messages[p.Version-r.base:]
	return append([]feed.Message(nil), rest[:min(limit, len(rest))]...)
}
